"""The cache stepper's page holds the numbers that were derived."""

from collections import Counter

from tests.browser.figure_page import numbers, values
from tests.unit.test_cache_stepper import costs
from transformer_edu.book.figures import CacheStepper


def test_the_page_shows_what_was_derived(open_html):
    figure = CacheStepper(step=6, masked=False)
    page = open_html(figure.html(), asleep=True).page
    kept, again = figure.recorded["kept"][1], figure.recorded["unmasked"][5]
    moved = [far > 1e-3 for far in again["moved"][1]]
    cached = {"now": 6, "kept": 15 - sum(moved), "stale": sum(moved)}
    for board, expected in (("cached", cached), ("plain", {"now": 6, "again": 15})):
        kinds = page.locator(f"[data-board={board}] [data-kind]").evaluate_all(
            "all => all.map(one => one.dataset.kind)"
        )
        assert (kinds[1], kinds[8], Counter(kinds)) == (list(expected)[1], "later", expected | {"later": 43})
    assert numbers(page.locator(".te-cache-count")).tolist() == [6, 21]
    for token in range(6):
        page.get_by_label("Key of").select_option(str(token))
        for way, keys in (("cached", kept), ("plain", again["keys"][1])):
            assert numbers(page.locator(f"[data-key={way}] [data-value]")).tolist() == keys[token]
        assert page.locator(".te-cache-verdict").last.inner_text() == ("≠ another" if moved[token] else "= the same")
    assert values(page, ".te-cache-counts").view(-1, 2).tolist() == costs(6)
    assert values(page, ".te-cache-bars").tolist() == [64, 2080, 18176]
    assert page.locator(".te-cache-track span").first.get_attribute("style").startswith("width: 3.07")  # %
