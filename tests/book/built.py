"""The pages of the built book, each read once."""

from functools import cache

from bs4 import BeautifulSoup


@cache
def page(path):
    """A page as it was parsed, for looking at alone: all tests share it."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
