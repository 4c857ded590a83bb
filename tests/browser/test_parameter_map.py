"""The parameter map: areas are counts, and labels stay free of what was there before."""

import pytest

from tests.browser.figure_page import act, number
from tests.unit.test_parameter_map import model_counts
from transformer_edu.book.figures import ParameterMap

PARTS = "[role=option]"
AREAS = """all => all.map(one => [one.dataset.part, one.getBoundingClientRect()])
    .map(([name, { width, height }]) => [name, width * height])"""
# How far what was there before reaches into the next group, in pixels.
BELOW = """all => all.slice(1).map((group, i) => Math.max(...[...all[i].querySelectorAll('.te-pm-changed')].map((one) =>
    one.getBoundingClientRect().top + parseFloat(getComputedStyle(one, '::after').height)), 0)
    - group.getBoundingClientRect().top)"""


@pytest.mark.parametrize("width", [800, 390])
def test_every_matrix_tells_its_count_and_has_its_area(width, show):
    figure = ParameterMap(d_ff=3000, tie_embeddings="none", target_vocab_size=9000)
    page, counts = show(figure, width=width), model_counts(figure.config())
    values = page.locator(PARTS).evaluate_all("all => all.map(one => [one.dataset.part, +one.dataset.value])")
    assert dict(values) == {name: count for name, count in counts.items() if name != "norms"}
    assert number(page, "[data-total]") == counts.total()
    columns = {"w_1": 3000, "w_2": 3000, "source": 37_000, "target": 9000, "projection": 9000}
    areas = page.locator(PARTS).evaluate_all(AREAS)
    scale = [area / columns.get(name.split(".")[-1], 512) for name, area in areas]
    assert max(scale) / min(scale) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("width", [800, 390])
@pytest.mark.parametrize("name", ["source words", "d model", "d ff"])
def test_what_was_there_before_covers_no_label(name, width, show):
    page = show(ParameterMap(), width=width)
    act(page, f"button halve: {name}")
    assert max(page.locator(".te-pm-group").evaluate_all(BELOW)) <= 0
    behind = "one => +getComputedStyle(one, '::after').zIndex"
    before = "all => all.map(one => +getComputedStyle(one).zIndex)"
    letters = page.locator(".te-pm-changed .te-pm-letter").evaluate_all(before)
    assert min(letters) > page.locator(".te-pm-changed").first.evaluate(behind)
