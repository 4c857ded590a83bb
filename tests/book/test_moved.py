"""Addresses that pages once had lead to where they are now."""

import re

import moved
import pytest

from tests.book import built
from tests.conftest import ROOT


def test_old_addresses_are_no_pages_and_new_ones_are_in_the_contents():
    contents = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert moved.MOVED.keys() & set(contents) == set()
    assert set(moved.MOVED.values()) <= set(contents)


@pytest.mark.parametrize("old", moved.MOVED)
def test_an_old_address_leads_to_the_new_one_without_a_script(old, book_html):
    path = book_html / f"{old}.html"
    page = built.page(path)
    assert not page.select("script")
    address = page.find("meta", attrs={"http-equiv": "refresh"})["content"].partition("url=")[2]
    assert (path.parent / address).resolve() == book_html / f"{moved.MOVED[old]}.html"
    assert page.a["href"] == page.find("link", rel="canonical")["href"] == address
    assert page.h1.get_text() == "When it does not work"


def test_where_the_book_has_an_address_the_new_one_is_named_in_full_and_titles_are_text():
    page = moved.page("A <b>", "b.html", "https://someone.example/book/b.html")
    assert '<link rel="canonical" href="https://someone.example/book/b.html">' in page
    assert "A &lt;b&gt;" in page
    assert "<b>" not in page
