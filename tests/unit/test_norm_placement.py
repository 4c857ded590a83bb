"""Norm placement's Python side: its networks, its curves, and its alt text; and autograd's numbers for its page."""

import math

import pytest
import torch
import torch.nn.functional as F
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
    norm,
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
SCENES = {
    "the finding follows the medians": [
        "> slider layers = 12",
        "Back through 12 layers, post-norm leaves 0.56 of the signal, pre-norm 0.64",
        "from the loss back → … output (layer 12), ○ beforeinput (layer 1)",
        "> radio length",
        "the stream leaves every layer with length 2.83",
        "> radio pre-norm; slider layers = 24",
        "grows from length 2.81 to 7.70",
        "> radio no residual; radio likeness",
        "after 24 layers cat and black have cosine 1.00",
    ],
    "a pulse tells what it is at each place, until something else is done": [
        "! layer 120.49",
        "> button Pulse",
        "layer 120.49",
        "~ Pulse in layer 12: at the end 0.49, before the last 0.43, past the sub-layer 0.43, before the first",
        "> radio pre-norm",
        "! layer 120.49",
        "> click .te-details summary; slider layer = 6; button Pulse",
        "~ Pulse in layer 6: at the end",
    ],
}


def taps(x, placement, place):
    """The vectors at each place of one layer of all networks, (networks, places, d_model)."""
    w_1, w_2 = (weights[:, place - 1] for weights in draw_networks(place))
    stream = passage(x, place, placement).stream
    x, out = stream[:, place - 1], stream[:, place]
    inner = norm(x) if placement == "pre" else x
    sub = ((inner.unsqueeze(1) @ w_1).relu() @ w_2).squeeze(1)
    places = {"post": [x, sub, x + sub, out], "pre": [x, inner, sub, out], "none": [x, sub, out]}
    return torch.stack(places[placement], dim=1)


def signals(placement, depth, place):
    """The gradient at the output of one layer, behind the first of its two parts, behind both, and at its input."""
    w_1, w_2 = (weights[:, place - 1] for weights in draw_networks(depth))
    run = passage(X, depth, placement)
    x, d = run.stream[:, place - 1].requires_grad_(), run.gradient[:, place]

    def back(output, by, where):
        return torch.autograd.grad(output, where, by, retain_graph=True)[0]

    inner = norm(x) if placement == "pre" else x
    sub = ((inner.unsqueeze(1) @ w_1).relu() @ w_2).squeeze(1)
    total = sub if placement == "none" else x + sub
    first = back(sub, d, inner) if placement == "pre" else back(norm(total), d, total)
    both = back(inner, first, x) if placement == "pre" else back(sub, first, x)
    return torch.stack([d, first, both] + [run.gradient[:, place - 1]] * (placement != "none"), dim=1)


def numbers():
    """Curves of few and many layers, one layer's vectors, and what a pulse is there: medians over the networks."""
    found = {"x": [CAT, BLACK], "curves": [], "taps": [], "places": []}
    for placement in PLACEMENTS:
        for depth in (1, 12, 24):
            curves = median_curves(X, OTHER, depth, placement)
            found["curves"].append(
                {"placement": placement, "depth": depth} | {k: v.tolist() for k, v in curves.items()}
            )
        for at, network in ((1, 1), (6, 2), (24, 51)):
            of = {"placement": placement, "layer": at, "network": network, "depth": 24}
            mine, other = (taps(x, placement, at) for x in (X, OTHER))
            found["taps"].append(of | {"vectors": mine[network - 1].tolist()})
            places = {"length": mine.norm(dim=-1), "likeness": F.cosine_similarity(mine, other, dim=-1)}
            places["signal"] = signals(placement, 24, at).norm(dim=-1)
            found["places"] += [
                of | {"measure": k, "values": v.median(dim=0).values.tolist()} for k, v in places.items()
            ]
    return found


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
    assert curves["none"]["signal"][0] < 0.5 * min(curves[placement]["signal"][0] for placement in ("post", "pre"))
    assert "residual" not in curves["none"]


def test_alt_text_says_the_medians():
    said = NormPlacement("pre", 6).alt_text()
    assert said.startswith("The wiring of a layer with pre-norm, and a chart of the signal over 6 layers")
    for placement in PLACEMENTS:
        curves = median_curves(X, OTHER, 6, placement)
        for value in (curves["length"][-1], curves["signal"][0], curves["likeness"][-1]):
            assert f"{value:.2f}" in said
