"""What the measurements of this folder share: the contenders, the clock, the table and the file of results."""
