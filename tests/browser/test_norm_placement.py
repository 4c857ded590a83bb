"""Norm placement, by mouse and by keyboard alone, with autograd's numbers."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from tests.browser.conftest import StrictPage
from tests.browser.figure_page import opened, slide, values
from tests.browser.keyboard import tab_to
from transformer_edu.widgets import NormPlacement
from transformer_edu.widgets.norm_placement_data import (
    BLACK,
    CAT,
    PLACEMENTS,
    draw_networks,
    median_curves,
    norm,
    passage,
)

MOST_TABS = 15

X, OTHER = torch.tensor([CAT, BLACK], dtype=torch.float64)
NAMES = {"post": "post-norm", "pre": "pre-norm", "none": "no residual"}


@pytest.fixture
def page(tmp_path: Path, strict_page: StrictPage) -> Page:
    return opened(NormPlacement(), tmp_path, strict_page)


def choose(page: Page, placement: str) -> None:
    page.get_by_role("radio", name=NAMES[placement]).click()


def curve(page: Page, chart: str, name: str) -> Tensor:
    stored = page.locator(f"[data-chart={chart}]").get_attribute(f"data-{name}")
    return torch.tensor(json.loads(stored or "[]"), dtype=torch.float64)


def expected_taps(placement: str, layer: int, network: int) -> Tensor:
    """The vectors at the taps of one layer of one network, from the stream that PyTorch gives."""
    w_1, w_2 = (weights[network - 1, layer - 1] for weights in draw_networks(layer))
    stream = passage(X, layer, placement).stream[network - 1]
    x, out = stream[layer - 1], stream[layer]
    inner = norm(x) if placement == "pre" else x
    sublayer = (inner @ w_1).relu() @ w_2
    taps = {"post": [x, sublayer, x + sublayer, out], "pre": [x, inner, sublayer, out], "none": [x, sublayer, out]}
    return torch.stack(taps[placement])


def assert_taps(page: Page, placement: str, layer: int, network: int) -> None:
    taps = expected_taps(placement, layer, network)
    torch.testing.assert_close(values(page, "[data-matrix=taps]").view_as(taps), taps, atol=1e-4, rtol=0)
    torch.testing.assert_close(
        values(page, ".te-place-stage").flatten()[-2 * len(taps) :][: len(taps)], taps.norm(dim=1)
    )
    spread = values(page, ".te-place-stage").flatten()[-len(taps) :]
    torch.testing.assert_close(spread, taps.std(dim=1, correction=0), atol=1e-4, rtol=0)


def assert_curves(page: Page, depth: int) -> None:
    for placement in PLACEMENTS:
        curves = median_curves(X, OTHER, depth, placement)
        for name in ("length", "signal", "likeness"):
            torch.testing.assert_close(curve(page, name, placement), curves[name], atol=1e-4, rtol=0)


@pytest.mark.parametrize("depth", [1, 12, 24])
def test_every_curve_agrees_with_autograd(page: Page, depth: int) -> None:
    slide(page, "layers in the stack", depth)
    assert_curves(page, depth)
    for placement in ("post", "pre"):
        choose(page, placement)
        expected = median_curves(X, OTHER, depth, placement)["residual"]
        torch.testing.assert_close(curve(page, "signal", "bypass"), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_tap_agrees_with_torch(page: Page, placement: str) -> None:
    choose(page, placement)
    slide(page, "layers in the stack", 24)
    for layer, network in ((1, 1), (6, 2), (24, 3)):
        slide(page, "layer shown", layer)
        assert_taps(page, placement, layer, network)
        page.get_by_role("button", name="Another network").click()


def test_default_state_says_what_the_medians_are(page: Page) -> None:
    curves = median_curves(X, OTHER, 12, "post")
    words = page.locator(".te-place-sentence").inner_text()
    assert "Every layer ends in a norm, so the stream leaves it with length 2.83, always." in words
    assert f"{curves['signal'][-1]:.2f} at the last layer’s output" in words
    assert f"{curves['signal'][0]:.2f} at the first layer’s input" in words
    alone = f"{curves['residual'][0]:.2f}"
    assert f"Along the bypass alone {alone}, because the bypass leads through all 12 norms." in words
    expect(page.locator(".te-place-point")).to_have_count(13)


def test_words_of_the_other_placements_follow_the_numbers(page: Page) -> None:
    slide(page, "layers in the stack", 24)
    choose(page, "pre")
    pre, none = (median_curves(X, OTHER, 24, placement) for placement in ("pre", "none"))
    words = page.locator(".te-place-sentence")
    expect(words).to_contain_text(f"from length {pre['length'][0]:.2f} to {pre['length'][-1]:.2f}")
    expect(words).to_contain_text(f"Along the bypass alone it is {pre['residual'][0]:.2f} at every layer, unchanged.")
    choose(page, "none")
    expect(words).to_contain_text(
        f"cosine {none['likeness'][0]:.2f} before, {none['likeness'][-1]:.3f} after 24 layers"
    )
    expect(words).to_contain_text("There is no bypass.")
    expect(page.locator(".te-place-point")).to_have_count(0)


def test_circuit_has_the_norm_where_the_placement_says(page: Page) -> None:
    height = {}
    for placement in PLACEMENTS:
        choose(page, placement)
        boxes = {one: page.locator(f".te-place-{one} rect").bounding_box() for one in ("norm", "sub-layer")}
        assert boxes["norm"] is not None
        assert boxes["sub-layer"] is not None
        height[placement] = boxes["norm"]["y"] - boxes["sub-layer"]["y"]
        assert bool(page.locator(".te-place-bypass").get_attribute("d")) == (placement != "none")
    assert height["pre"] < 0 < height["none"] < height["post"]


def test_chart_draws_the_curve_it_holds(page: Page) -> None:
    path = page.locator("[data-chart=length] .te-place-of-pre").get_attribute("d") or ""
    heights = torch.tensor([float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", path)])
    values = curve(page, "length", "pre").float()
    scaled = (heights - heights[0]) / (heights[-1] - heights[0])
    torch.testing.assert_close(scaled, (values - values[0]) / (values[-1] - values[0]), atol=0.01, rtol=0)


def test_whole_figure_by_keyboard_alone(page: Page) -> None:
    tab_to(page, "[role=radio]", most=MOST_TABS)
    page.keyboard.press("ArrowRight")
    assert_taps(page, "pre", 6, 1)
    tab_to(page, "input[type=range]", most=MOST_TABS)
    page.keyboard.press("Home")  # one layer: the layer shown can only be the first
    assert_curves(page, 1)
    page.keyboard.press("ArrowRight")
    tab_to(page, "input[type=range]", most=MOST_TABS)
    page.keyboard.press("End")
    assert_taps(page, "pre", 2, 1)
    expect(page.locator("[aria-live=polite]")).to_contain_text("pre-norm, 2 layers, layer 2, network 1. No norm stands")
    tab_to(page, "[data-matrix=taps] [data-value]", most=MOST_TABS)
    page.keyboard.press("ArrowDown")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("row LayerNorm(x), column 1: ")
    tab_to(page, "button.te-button", most=MOST_TABS)
    page.keyboard.press("Enter")
    assert_taps(page, "pre", 2, 2)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert_taps(page, "post", 6, 1)
    assert math.isclose(values(page, "[data-column=length]")[-1].item(), math.sqrt(8), abs_tol=1e-3)
