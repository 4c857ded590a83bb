"""The parameter map: areas are counts, and labels stay free of what was there before."""

import pytest

from tests.browser.figure_page import act, number
from tests.unit.test_parameter_map import model_counts
from transformer_edu.book.figures import ParameterMap

PARTS = "all => all.map(one => [one.dataset.part, +one.dataset.value, one.getBoundingClientRect()])"
# How far what was there before reaches into the next group, in pixels.
BELOW = """all => all.slice(1).map((next, i) => Math.max(0, ...[...all[i].querySelectorAll(".te-pm-changed")].map(
    (one) => one.getBoundingClientRect().top + parseFloat(getComputedStyle(one, "::after").height)))
    - next.getBoundingClientRect().top)"""
BEFORE = """all => all.map((one) =>
    +getComputedStyle(one).zIndex > +getComputedStyle(one.closest(".te-pm-changed"), "::after").zIndex)"""


@pytest.mark.parametrize("width", [800, 390])
def test_every_matrix_tells_its_count_and_has_its_area(width, show):
    figure = ParameterMap(d_ff=3000, tie_embeddings="none", target_vocab_size=9000)
    page, counts = show(figure, width=width), model_counts(figure.config())
    parts = page.locator("[role=option]").evaluate_all(PARTS)
    assert {name: value for name, value, _ in parts} | {"norms": counts["norms"]} == counts
    assert number(page, "[data-total]") == counts.total()
    columns = {"w_1": 3000, "w_2": 3000, "source": 37_000, "target": 9000, "projection": 9000}
    scale = [box["width"] * box["height"] / columns.get(name.split(".")[-1], 512) for name, _, box in parts]
    assert max(scale) / min(scale) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("width", "name"), [(800, "d model"), (390, "d model"), (390, "source words")])
def test_what_was_there_before_covers_no_label(width, name, show):
    page = show(ParameterMap(), width=width)
    act(page, f"button halve: {name}")
    assert max(page.locator(".te-pm-group").evaluate_all(BELOW)) <= 0
    letters = page.locator(".te-pm-changed .te-pm-letter").evaluate_all(BEFORE)
    assert letters
    assert all(letters)
