"""The rotary explorer: the page shows the package's numbers, and its arrow keys move both positions."""

from types import SimpleNamespace

import pytest

from tests.browser.figure_page import act, close, number, numbers, play
from transformer_edu.book.figures.rotary_explorer import products

STATE = {"base": 10_000, "trained": 2048, "read": 8192, "scaling": "yarn"}


def test_arrow_keys_move_both_and_the_numbers_are_the_packages(page):
    act(page, "radio YaRN")
    page.get_by_role("slider", name="move both").focus()
    for moved in (1, 2):
        act(page, "key ArrowRight")
        play(page, f"query at 1,00{moved}", f"Both moved by {moved}: every hand turned, no product changed")
        expected = products(SimpleNamespace(**STATE, query=1000 + moved, key=700 + moved))
        close(numbers(page.locator(".te-rot-product")), expected)
        assert number(page, "[data-fact=score]") == pytest.approx(expected.sum().item(), abs=1e-4)
    was = page.locator(".te-rot-product").evaluate_all("all => all.every((one) => one.dataset.was === one.textContent)")
    assert was
