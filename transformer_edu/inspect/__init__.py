"""Looking inside a model that knows nothing of being looked at, and comparing it with torch.nn's."""
