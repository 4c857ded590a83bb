"""Norm placement's Python side: its networks, its curves, and its alt text."""

import math

import pytest
import torch
from torch import nn

from transformer_edu import LayerNorm, ResidualConnection
from transformer_edu.book.figures import NormPlacement
from transformer_edu.book.figures.norm_placement import (
    BLACK,
    CAT,
    D_FF,
    D_MODEL,
    NETWORKS,
    PLACEMENTS,
    draw_networks,
    layer,
    median_curves,
    passage,
)

X, OTHER = torch.tensor([CAT, BLACK], dtype=torch.float64)
EXAMPLE = {
    "placement": "none", "depth": 24, "layer": 3, "network": 51, "measure": "length", "tokens": ["a", "b"],
    "x": torch.tensor([BLACK, CAT]).double(),
}  # fmt: skip
BAD = [
    (ValueError, "layer must be from 1 to 6, got 7", {"depth": 6, "layer": 7}),
    (ValueError, "x must have shape (2, 8)", {"x": [[1.0, 2.0]]}),
    (ValueError, "x must hold numbers from -100 to 100, got nan", {"x": [CAT, [math.nan, *BLACK[1:]]]}),
    (ValueError, "x must hold two vectors whose numbers differ", {"x": [CAT, [1.0] * 8]}),
]


def test_weights_are_xavier_uniform_and_differ():
    w_1, w_2 = draw_networks()
    bound = math.sqrt(6 / (D_MODEL + D_FF))
    for weights in (w_1, w_2):
        assert weights.abs().max() <= bound
        assert weights.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.01)
        assert weights.mean().item() == pytest.approx(0, abs=0.002)
        assert len({weights[n, i, 0, 0].item() for n in range(NETWORKS) for i in range(24)}) == NETWORKS * 24


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_layer_is_the_books_residual_connection(placement):
    w_1, w_2 = (weights[:, 0].float() for weights in draw_networks(1, 1))
    sublayer = nn.Sequential(nn.Linear(8, 32, bias=False), nn.ReLU(), nn.Linear(32, 8, bias=False))
    with torch.no_grad():
        sublayer[0].weight.copy_(w_1[0].T)
        sublayer[2].weight.copy_(w_2[0].T)
    x = X.float()[None]
    ours = layer(x, x, w_1, w_2, placement)
    torch.testing.assert_close(ours, ResidualConnection(LayerNorm(8), pre=placement == "pre")(x[None], sublayer)[0])


def test_post_norm_gives_every_layer_the_same_length_and_pre_norm_grows():
    post, pre = (median_curves(X, OTHER, 24, placement) for placement in ("post", "pre"))
    assert post["length"][1:].tolist() == pytest.approx([math.sqrt(8)] * 24, abs=1e-3)
    assert pre["length"][24] > 1.5 * pre["length"][6] > 2 * pre["length"][0]


@pytest.mark.parametrize("depth", [6, 12, 24])
def test_residual_way_of_pre_norm_is_untouched_and_that_of_post_norm_shrinks(depth):
    pre = passage(X, depth, "pre", residual_only=True).gradient
    torch.testing.assert_close(pre, pre[:, -1:].expand_as(pre))
    residual = median_curves(X, OTHER, depth, "post")["residual"]
    assert residual[0] < 0.5 * residual[-1] == pytest.approx(0.5, abs=1e-3)


def test_without_residual_tokens_become_alike_and_the_signal_is_the_weakest():
    curves = {placement: median_curves(X, OTHER, 24, placement) for placement in PLACEMENTS}
    assert curves["none"]["likeness"][-1] > 0.99 > 0.9 > curves["post"]["likeness"][-1]
    assert curves["none"]["signal"][0] < 0.5 * min(curves[one]["signal"][0] for one in ("post", "pre"))
    assert "residual" not in curves["none"]


def test_alt_text_says_the_medians():
    said = NormPlacement("pre", 6).alt_text()
    assert said.startswith("The wiring of a layer with pre-norm, and a chart of the signal over 6 layers")
    for placement in PLACEMENTS:
        curves = median_curves(X, OTHER, 6, placement)
        for value in (curves["length"][-1], curves["signal"][0], curves["likeness"][-1]):
            assert f"{value:.2f}" in said
