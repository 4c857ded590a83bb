"""From a model that scores the next token to whole sentences: greedy, beam, sampling, and what each costs."""
