"""The mask lab: the page shows what derive says."""

from tests.browser.figure_page import act, close, shown
from tests.unit.test_mask_lab import WRONG, scores_of, wrong


def test_the_page_shows_what_derive_says(page):
    act(page, "click [data-value=blind]", "click .te-details summary")
    weights = WRONG["blind"](scores_of("decoder"))
    close(shown(page, "weights")[:, :6], weights)
    close(shown(page, "scores"), scores_of("decoder"))
    assert page.locator("[data-matrix=weights] [data-row='2'][data-column='0']").inner_text() == "NaN"
    act(page, "click [data-value=bare]")
    leaks = page.locator("[data-matrix=weights] .te-leak").evaluate_all(
        "cells => cells.map(cell => [Number(cell.dataset.row), Number(cell.dataset.column)])"
    )
    assert leaks == wrong("bare")["leaks"]
    assert page.locator(".te-root").get_attribute("data-good") == "false"
