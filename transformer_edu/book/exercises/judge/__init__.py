"""Judging code that was written elsewhere: run apart, compared here."""
