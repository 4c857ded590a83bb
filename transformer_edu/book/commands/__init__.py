"""`transformer-edu`, and those of its commands that belong to the book: check and classroom."""
