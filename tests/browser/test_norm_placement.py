"""Norm placement, with autograd's numbers."""

import json
import re

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from tests.browser.figure_page import Show, slide, values
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

X, OTHER = torch.tensor([CAT, BLACK], dtype=torch.float64)
NAMES = {"post": "post-norm", "pre": "pre-norm", "none": "no residual"}


@pytest.fixture
def page(show: Show) -> Page:
    return show(NormPlacement())


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
        torch.testing.assert_close(curve(page, "signal", "residual"), expected, atol=1e-4, rtol=0)


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
    assert f"Along the residual connection alone {alone}, because it leads through all 12 norms." in words
    expect(page.locator(".te-place-point")).to_have_count(13)


def test_circuit_has_the_norm_where_the_placement_says(page: Page) -> None:
    height = {}
    for placement in PLACEMENTS:
        choose(page, placement)
        boxes = {one: page.locator(f".te-place-{one} rect").bounding_box() for one in ("norm", "sub-layer")}
        assert boxes["norm"] is not None
        assert boxes["sub-layer"] is not None
        height[placement] = boxes["norm"]["y"] - boxes["sub-layer"]["y"]
        assert bool(page.locator(".te-place-residual").get_attribute("d")) == (placement != "none")
    assert height["pre"] < 0 < height["none"] < height["post"]


def test_chart_draws_the_curve_it_holds(page: Page) -> None:
    path = page.locator("[data-chart=length] .te-place-of-pre").get_attribute("d") or ""
    heights = torch.tensor([float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", path)])
    values = curve(page, "length", "pre").float()
    scaled = (heights - heights[0]) / (heights[-1] - heights[0])
    torch.testing.assert_close(scaled, (values - values[0]) / (values[-1] - values[0]), atol=0.01, rtol=0)
