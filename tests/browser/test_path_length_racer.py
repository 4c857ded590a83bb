"""The path-length racer's page, against the numbers that it was derived of."""

import pytest

from tests.browser.figure_page import act, numbers
from tests.unit.test_path_length_racer import LANES, heard_by_step
from transformer_edu.book.figures.path_length_racer import multiply_adds


def test_the_page_shows_what_was_derived(page):
    act(page, "slider tokens, n = 37", "checkbox dilated convolution = on", "slider steps = 3")
    act(page, "click .te-details summary", "combobox size of a vector, d = 128")
    for lane in LANES:
        heard = heard_by_step(lane, 37, True)
        shown = page.locator(f"[data-lane={lane}]")
        assert [shown.locator(f"rect{kind}").count() for kind in ("", "[data-kind=heard]")] == [37, heard[:4][-1]]
        assert shown.get_attribute("data-done") == str(len(heard) <= 4).lower()
    end = page.locator("[data-lane=attention] .te-race-runner").get_attribute("d").removeprefix("M").split()
    assert float(end[0]) == pytest.approx(36.5 * 640 / 37)
    layers = {"recurrent": (37, 37), "GRU": (37, 37), "LSTM": (37, 37), "convolution": (1, 6), "attention": (1, 1)}
    expected = [[*steps, multiply_adds(37, 128)[name]] for name, steps in layers.items()]
    assert numbers(page.locator(".te-race-table [role=cell]")).view(5, 3).tolist() == expected
