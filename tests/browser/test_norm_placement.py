"""Norm placement, with autograd's numbers."""

import json
import re

import pytest
import torch

from tests.browser.figure_page import act, close, number, numbers, play, values
from transformer_edu.book.figures.norm_placement import (
    BLACK,
    CAT,
    PLACEMENTS,
    draw_networks,
    median_curves,
    norm,
    passage,
)

X, OTHER = torch.tensor([CAT, BLACK], dtype=torch.float64)
MEASURES = {"signal": "signal back", "length": "length", "likeness": "likeness"}
NAMES = {"post": "post-norm", "pre": "pre-norm", "none": "no residual"}


def curve(page, name):
    stored = page.locator("[data-chart]").get_attribute(f"data-{name}")
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


@pytest.mark.parametrize("depth", [1, 12, 24])
def test_every_curve_agrees_with_autograd(page, depth):
    act(page, f"slider layers = {depth}")
    for placement in PLACEMENTS:
        expected = median_curves(X, OTHER, depth, placement)
        for measure, name in MEASURES.items():
            act(page, f"radio {NAMES[placement]}", f"radio {name}")
            close(curve(page, placement), expected[measure])
            arrived = expected[measure][0 if measure == "signal" else -1].item()
            assert number(page, f".te-place-name-{placement}") == pytest.approx(arrived, abs=1e-4)
            if measure == "signal" and placement != "none":
                play(page, f"the residual connections alone … {expected['residual'][0]:.2f} … in {NAMES[placement]}")


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_tap_agrees_with_torch(page, placement):
    act(page, f"radio {NAMES[placement]}", "click summary")
    for layer, network in ((1, 1), (6, 2), (24, 3)):
        act(page, f"slider layer = {layer}")
        taps = expected_taps(placement, layer, network)
        close(values(page, "[data-matrix=taps]").view_as(taps), taps)
        close(numbers(page.locator("[data-length]"), "length"), taps.norm(dim=1))
        act(page, "button Another network")


def test_circuit_has_the_norm_where_the_placement_says(page):
    height = {}
    for placement in PLACEMENTS:
        act(page, f"radio {NAMES[placement]}")
        boxes = {one: page.locator(f".te-place-{one} rect").bounding_box() for one in ("norm", "sub-layer")}
        height[placement] = boxes["norm"]["y"] - boxes["sub-layer"]["y"]
        assert bool(page.locator(".te-place-residual").first.get_attribute("d")) == (placement != "none")
    assert height["pre"] < 0 < height["none"] < height["post"]


def test_chart_draws_the_curve_it_holds(page):
    act(page, "radio length")
    path = page.locator(".te-place-plot .te-place-of-pre").get_attribute("d")
    heights = torch.tensor([float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", path)])
    stored = curve(page, "pre")
    scaled = (heights - heights[0]) / (heights[-1] - heights[0])
    close(scaled, (stored - stored[0]) / (stored[-1] - stored[0]), atol=0.01)


def test_the_finding_follows_the_medians(page):
    post, pre12 = (median_curves(X, OTHER, 12, one) for one in ("post", "pre"))
    pre, none = (median_curves(X, OTHER, 24, one) for one in ("pre", "none"))
    play(
        page,
        "> slider layers = 12",
        f"12 layers, post-norm leaves {post['signal'][0]:.2f} of the signal, pre-norm {pre12['signal'][0]:.2f}",
        "from the loss back → … output (layer 12)input (layer 1)",
        f"pre-norm begins at {pre12['signal'][-1]:.2f}",
        "> radio length",
        "the stream leaves every layer with length 2.83",
        "> radio pre-norm; slider layers = 24",
        f"grows from length {pre['length'][0]:.2f} to {pre['length'][-1]:.2f}",
        "> radio no residual; radio likeness",
        f"after 24 layers cat and black have cosine {none['likeness'][-1]:.2f}",
    )
