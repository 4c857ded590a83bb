"""A vector through a layer: where the norm stands, and what that does to a stack and to the signal that comes back."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import choice, field, whole, words
from transformer_edu.book.figures.inputs import check_matrix

D_MODEL, D_FF = 8, 32
NETWORKS, MOST_LAYERS = 51, 24
PLACEMENTS = ("post", "pre", "none")
STEP = 0x6D2B79F5
LARGEST = 100.0
# torch.randn(2, 8, generator=torch.Generator().manual_seed(341)), rounded to one decimal. The seed was looked for: both
# vectors have about the length √8 that a norm gives, a mean near 0, and they are nearly at right angles.
CAT = (1.0, 1.4, 0.4, 0.3, -1.8, 0.1, -0.1, -1.2)
BLACK = (1.8, 0.3, 0.5, -0.6, 0.7, -1.5, -1.2, 0.7)


def check_vectors(value: Any) -> list[list[float]]:
    """Two vectors of 8 numbers, neither with a standard deviation of 0."""
    rows = check_matrix("x", value, LARGEST)
    if [len(row) for row in rows] != [D_MODEL, D_MODEL]:
        raise ValueError(f"x must have shape (2, {D_MODEL}), got rows of length {[len(row) for row in rows]}")
    if any(max(row) == min(row) for row in rows):
        raise ValueError(f"x must hold two vectors whose numbers differ from each other, got {value!r}")
    return rows


def uniform(seed: int, count: int) -> Tensor:
    """`count` numbers from 0 to 1 of the generator mulberry32 (32-bit integers only, so JavaScript draws the same)."""
    state = (np.arange(1, count + 1, dtype=np.uint64) * STEP + seed).astype(np.uint32)
    mixed = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    mixed = (mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))) ^ mixed
    return torch.from_numpy((mixed ^ (mixed >> np.uint32(14))).astype(np.float64) / 2**32)


def draw_networks(layers: int = MOST_LAYERS, networks: int = NETWORKS) -> tuple[Tensor, Tensor]:
    """W₁ (networks, layers, d_model, d_ff) and W₂ (networks, layers, d_ff, d_model), Xavier uniform; no biases.

    Glorot & Bengio 2010: uniform from −a to a with a = √(6 / (d_model + d_ff)). Network n has seed n.
    """
    weights = _all_weights()[:networks, :layers]
    first, second = weights.unbind(dim=2)
    return first.unflatten(-1, (D_MODEL, D_FF)), second.unflatten(-1, (D_FF, D_MODEL))


@cache
def _all_weights() -> Tensor:
    """(networks, layers, 2, d_model · d_ff)."""
    numbers = torch.stack([uniform(seed, MOST_LAYERS * 2 * D_MODEL * D_FF) for seed in range(NETWORKS)])
    bound = math.sqrt(6 / (D_MODEL + D_FF))
    return ((2 * numbers - 1) * bound).view(NETWORKS, MOST_LAYERS, 2, D_MODEL * D_FF)


def norm(x: Tensor) -> Tensor:
    """Layer norm with γ = 1, β = 0, ε = 1e-5."""
    return F.layer_norm(x, x.shape[-1:])


def layer(x: Tensor, sublayer_input: Tensor, w_1: Tensor, w_2: Tensor, placement: str) -> Tensor:
    """One layer; x and sublayer_input (networks, d_model) are the same unless only the residual way is followed."""

    def sublayer(h: Tensor) -> Tensor:
        return (F.relu(h.unsqueeze(1) @ w_1) @ w_2).squeeze(1)

    if placement == "post":
        return norm(x + sublayer(sublayer_input))
    if placement == "pre":
        return x + sublayer(norm(sublayer_input))
    return norm(sublayer(sublayer_input))


@dataclass(frozen=True)
class Passage:
    """A token's way through every network: entry l is the stream after l layers, (networks, depth + 1, d_model)."""

    stream: Tensor
    gradient: Tensor  # of the loss with respect to the stream


def passage(x: Tensor, depth: int, placement: str, *, residual_only: bool = False) -> Passage:
    """Run x (d_model) through every network and back, by autograd.

    The loss is (y₁ − y₂ + y₃ − …) / √d_model of the output y; pre-norm has one more norm before it. With
    `residual_only` the sub-layers are run, but no gradient goes through them.
    """
    w_1, w_2 = draw_networks(depth)
    stream = [x.double().expand(len(w_1), -1).clone().requires_grad_()]
    for index in range(depth):
        entry = stream[-1].detach() if residual_only else stream[-1]
        stream.append(layer(stream[-1], entry, w_1[:, index], w_2[:, index], placement))
    output = norm(stream[-1]) if placement == "pre" else stream[-1]
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(D_MODEL // 2)
    loss = (output @ signs).sum() / math.sqrt(D_MODEL)
    gradients = torch.autograd.grad(loss, stream, allow_unused=True, materialize_grads=True)
    return Passage(torch.stack(stream, dim=1).detach(), torch.stack(gradients, dim=1))


def median_curves(x: Tensor, other: Tensor, depth: int, placement: str) -> dict[str, Tensor]:
    """Medians over the networks after 0 … depth layers: length, signal, residual (that way's signal), likeness."""
    mine, second = passage(x, depth, placement), passage(other, depth, placement)
    curves = {
        "length": mine.stream.norm(dim=-1),
        "signal": mine.gradient.norm(dim=-1),
        "likeness": F.cosine_similarity(mine.stream, second.stream, dim=-1),
    }
    if placement != "none":
        curves["residual"] = passage(x, depth, placement, residual_only=True).gradient.norm(dim=-1)
    return {name: values.median(dim=0).values for name, values in curves.items()}


MEASURES = ("signal", "length", "likeness")
TITLES = {"post": "post-norm", "pre": "pre-norm", "none": "no residual"}


class NormPlacement(Figure):
    """Post-norm, pre-norm, and no residual connection, in stacks of 1 to 24 layers at d_model 8.

    A layer is one feed-forward sub-layer (8 → 32 → 8, ReLU, no biases) with its norm and, unless `placement` is
    "none", its residual connection. Weights are Xavier uniform; the curves are medians over 51 networks. The backward
    signal is the length of ∂loss/∂stream, where the loss is (y₁ − y₂ + y₃ − …) / √8 of the output y.

    Args:
        placement: "post", LayerNorm(x + Sublayer(x)), the paper; "pre", x + Sublayer(LayerNorm(x)), with one more norm
            after the last layer; or "none", LayerNorm(Sublayer(x)).
        depth: number of layers, 1 to 24. (The paper's encoder has 12 sub-layers.)
        layer: the one whose vectors are in the details, 1 to depth; None is the middle one.
        network: which of the 51 networks it belongs to, 1 to 51.
        measure: what the chart shows: "signal", that which comes back; "length" of the stream; or "likeness" of the
            two tokens.
        tokens: two words. x: their vectors (2, 8); the first goes through the layer, both through the likeness.

    Vaswani et al. 2017, section 3.1; Xiong et al. 2020.
    """

    figure_name: ClassVar[str] = "norm-placement"

    placement = choice("post", PLACEMENTS)
    depth = whole(MOST_LAYERS, 1, MOST_LAYERS)
    layer = whole(lambda so: (so.depth + 1) // 2, 1, lambda so: so.depth)
    network = whole(1, 1, NETWORKS)
    measure = choice("signal", MEASURES)
    tokens = words(("cat", "black"), 2, 2)
    x = field(traitlets.List(traitlets.List(traitlets.Float())), (CAT, BLACK), lambda _, x, so: check_vectors(x))

    def alt_text(self) -> str:
        """What each placement does to the stream, the signal and the two tokens."""
        mine, other = torch.tensor(self.x, dtype=torch.float64)
        said = []
        for placement in PLACEMENTS:
            curves = median_curves(mine, other, self.depth, placement)
            said.append(
                f"{TITLES[placement]}: length {curves['length'][-1]:.2f} after the last layer, backward signal "
                f"{curves['signal'][-1]:.2f} there and {curves['signal'][0]:.2f} at the input, cosine of "
                f"{' and '.join(self.tokens)} {curves['likeness'][-1]:.2f}"
            )
        return (
            f"The wiring of a layer with {TITLES[self.placement]}, and a chart of the {self.measure} over {self.depth} "
            f"layers, medians of {NETWORKS} random networks. {'; '.join(said)}."
        )
