"""Other people's code runs here: apart, with limits, behind a locked door."""
