"""Norm placement, with autograd's numbers."""

import json
import re

import pytest
import torch

from tests.browser.figure_page import act, close, play, values
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


def curve(page, chart, name):
    stored = page.locator(f"[data-chart={chart}]").get_attribute(f"data-{name}")
    return torch.tensor(json.loads(stored or "[]"), dtype=torch.float64)


def expected_taps(placement, layer, network):
    """The vectors at the taps of one layer of one network, from the stream that PyTorch gives."""
    w_1, w_2 = (weights[network - 1, layer - 1] for weights in draw_networks(layer))
    stream = passage(X, layer, placement).stream[network - 1]
    x, out = stream[layer - 1], stream[layer]
    inner = norm(x) if placement == "pre" else x
    sublayer = (inner @ w_1).relu() @ w_2
    taps = {"post": [x, sublayer, x + sublayer, out], "pre": [x, inner, sublayer, out], "none": [x, sublayer, out]}
    return torch.stack(taps[placement])


def assert_curves(page, depth):
    for placement in PLACEMENTS:
        curves = median_curves(X, OTHER, depth, placement)
        for name in ("length", "signal", "likeness"):
            close(curve(page, name, placement), curves[name])


@pytest.mark.parametrize("depth", [1, 12, 24])
def test_every_curve_agrees_with_autograd(page, depth):
    act(page, f"slider layers in the stack = {depth}")
    assert_curves(page, depth)
    for placement in ("post", "pre"):
        act(page, f"radio {NAMES[placement]}")
        expected = median_curves(X, OTHER, depth, placement)["residual"]
        close(curve(page, "signal", "residual"), expected)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_tap_agrees_with_torch(page, placement):
    act(page, f"radio {NAMES[placement]}", "slider layers in the stack = 24")
    for layer, network in ((1, 1), (6, 2), (24, 3)):
        act(page, f"slider layer shown = {layer}")
        taps = expected_taps(placement, layer, network)
        close(values(page, "[data-matrix=taps]").view_as(taps), taps)
        lengths, spreads = values(page, ".te-place-stage")[-2 * len(taps) :].chunk(2)
        close(lengths, taps.norm(dim=1))
        close(spreads, taps.std(dim=1, correction=0))
        act(page, "button Another network")


def test_circuit_has_the_norm_where_the_placement_says(page):
    height = {}
    for placement in PLACEMENTS:
        act(page, f"radio {NAMES[placement]}")
        boxes = {one: page.locator(f".te-place-{one} rect").bounding_box() for one in ("norm", "sub-layer")}
        height[placement] = boxes["norm"]["y"] - boxes["sub-layer"]["y"]
        assert bool(page.locator(".te-place-residual").get_attribute("d")) == (placement != "none")
    assert height["pre"] < 0 < height["none"] < height["post"]


def test_chart_draws_the_curve_it_holds(page):
    path = page.locator("[data-chart=length] .te-place-of-pre").get_attribute("d")
    heights = torch.tensor([float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", path)])
    stored = curve(page, "length", "pre")
    scaled = (heights - heights[0]) / (heights[-1] - heights[0])
    close(scaled, (stored - stored[0]) / (stored[-1] - stored[0]), atol=0.01)


def test_words_follow_the_medians(page):
    post = median_curves(X, OTHER, 12, "post")
    pre, none = (median_curves(X, OTHER, 24, placement) for placement in ("pre", "none"))
    play(
        page,
        "Every layer ends in a norm, so the stream leaves it with length 2.83, always.",
        f"{post['signal'][-1]:.2f} at the last layer’s output",
        f"{post['signal'][0]:.2f} at the first layer’s input",
        f"Along the residual connection alone {post['residual'][0]:.2f}, because it leads through all 12 norms.",
        "> slider layers in the stack = 24",
        "> radio pre-norm",
        f"from length {pre['length'][0]:.2f} to {pre['length'][-1]:.2f}",
        f"alone it is {pre['residual'][0]:.2f} at every layer, unchanged.",
        "> radio no residual",
        f"cosine {none['likeness'][0]:.2f} before, {none['likeness'][-1]:.3f} after 24 layers",
    )
