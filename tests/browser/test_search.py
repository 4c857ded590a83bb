"""The book's search finds the field's words, also those that other books use, over http and from disk."""

from urllib.parse import quote_plus

import pytest

QUERIES = ("skip connection", "causal mask", "KV cache", "look-ahead mask", "teacher forcing")


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("from_disk", [False, True])
def test_search_finds_the_glossary(query, from_disk, book_html, book_address, same_tab):
    base = book_html.as_uri() if from_disk else book_address
    watched = same_tab()
    page = watched.open(f"{base}/search.html?q={query.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a[href*='glossary.html']")  # results come one by one
    if from_disk:
        page.wait_for_function("/found/.test(document.querySelector('#search-progress, .search-summary').textContent)")
        assert not watched.errors, "from disk no page may be read for a quotation"


@pytest.mark.parametrize("query", ["__proto__ constructor", "causal -constructor", "hasOwnProperty toString"])
def test_words_that_every_object_knows_are_words_like_others(query, book_address, same_tab):
    watched = same_tab()
    page = watched.open(f"{book_address}/search.html?q={quote_plus(query)}")
    page.wait_for_function("/found|did not match/.test(document.querySelector('.search-summary').textContent)")
    watched.assert_clean()
