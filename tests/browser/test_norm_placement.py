"""Norm placement on a page: it shows what is derived, and the norm and a pulse go where the placement says."""

import pytest

from tests.browser.figure_page import act, close, number, numbers
from tests.unit.test_norm_placement import OTHER, X, signals
from transformer_edu.book.figures.norm_placement import PLACEMENTS, median_curves

NAMES = {"post": "post-norm", "pre": "pre-norm", "none": "no residual"}


def test_the_page_shows_what_autograd_gives(page):
    act(page, "slider layers = 12", "radio likeness")
    for name in PLACEMENTS:
        arrived = median_curves(X, OTHER, 12, name)["likeness"][-1].item()
        assert number(page, f".te-place-end.te-place-name-{name}") == pytest.approx(arrived, abs=1e-4)
    act(page, "radio signal back", "button Pulse")
    d, first, both, whole = signals("post", 12, 12).norm(dim=-1).median(dim=0).values.tolist()
    close(numbers(page.locator("[data-gap]")), [d, first, first, both, whole])


def test_circuit_has_the_norm_where_the_placement_says(page):
    height = {}
    for placement in PLACEMENTS:
        act(page, f"radio {NAMES[placement]}")
        boxes = {part: page.locator(f".te-place-{part} rect").bounding_box() for part in ("norm", "sub-layer")}
        height[placement] = boxes["norm"]["y"] - boxes["sub-layer"]["y"]
        assert bool(page.locator(".te-place-residual").first.get_attribute("d")) == (placement != "none")
    assert height["pre"] < 0 < height["none"] < height["post"]
