"""Readers' own code: checks that name the mistake, the command that judges anybody's part, problem sets for a class."""
