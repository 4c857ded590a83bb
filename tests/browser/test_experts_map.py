"""The experts map: the page shows the recorded shares, and old ones beside them."""

import pytest

from tests.browser.figure_page import act, numbers
from transformer_edu.book import recordings
from transformer_edu.book.figures.experts_map import moments_of

STORED = recordings.load("experts")["data"]


def test_the_page_shows_recorded_shares_and_ticks_where_they_were(page):
    before = moments_of(STORED, "none")[-1]["shares"][1]
    act(page, "radio loss")
    now = moments_of(STORED, "loss")[-1]["shares"][1]
    assert numbers(page.locator(".te-exp-share")).tolist() == now
    for selector, side, shares in ((".te-exp-bar", "height", now), (".te-exp-tick", "bottom", before)):
        drawn = page.locator(selector).evaluate_all(f"all => all.map(({{ style }}) => parseFloat(style.{side}))")
        assert drawn == pytest.approx([100 * share / 0.45 for share in shares], abs=0.01)
    even = page.locator(".te-exp-even").evaluate("({ style }) => parseFloat(style.bottom)")
    assert even == pytest.approx(100 / 8 / 0.45, abs=0.01)
    assert page.locator(".te-exp-wide .te-exp-strong").count() == 2
    assert page.locator(".te-exp-wide path[class*=te-exp]").count() == 2 * len(STORED["pieces"])
