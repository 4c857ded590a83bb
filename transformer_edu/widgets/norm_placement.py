"""A vector through a layer: where the norm stands, and what that does to a stack and to the signal that comes back."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.support.validation import check_choice, check_positive_integer
from transformer_edu.widgets.base import Figure
from transformer_edu.widgets.lists import as_lists
from transformer_edu.widgets.norm_placement_data import D_MODEL, MOST_LAYERS, NETWORKS, PLACEMENTS, median_curves

# torch.randn(2, 8, generator=torch.Generator().manual_seed(341)), rounded to one decimal. The seed was looked for: both
# vectors have about the length √8 that a norm gives, a mean near 0, and they are nearly at right angles.
CAT = (1.0, 1.4, 0.4, 0.3, -1.8, 0.1, -0.1, -1.2)
BLACK = (1.8, 0.3, 0.5, -0.6, 0.7, -1.5, -1.2, 0.7)
TITLES = {"post": "post-norm", "pre": "pre-norm", "none": "no residual"}


class NormPlacement(Figure):
    """Post-norm, pre-norm, and no residual connection, in stacks of 1 to 24 layers at d_model 8.

    A layer is one feed-forward sub-layer (8 → 32 → 8, ReLU, no biases) with its norm and, unless `placement` is
    "none", its bypass. Weights are Xavier uniform; the curves are medians over 51 networks. The backward signal is the
    length of ∂loss/∂stream, where the loss is (y₁ − y₂ + y₃ − …) / √8 of the output y.

    Args:
        placement: "post", LayerNorm(x + Sublayer(x)), the paper; "pre", x + Sublayer(LayerNorm(x)), with one more norm
            after the last layer; or "none", LayerNorm(Sublayer(x)).
        depth: number of layers, 1 to 24. (The paper's encoder has 12 sub-layers.)
        layer: the one whose vectors are shown, 1 to depth; None is the middle one.
        network: which of the 51 networks it belongs to, 1 to 51.
        tokens: two words. x: their vectors (2, 8); the first goes through the layer, both through the likeness.

    Vaswani et al. 2017, section 3.1; Xiong et al. 2020.
    """

    figure_name: ClassVar[str] = "norm-placement"

    placement = traitlets.Unicode().tag(sync=True)
    depth = traitlets.Int().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    network = traitlets.Int().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    x = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)

    def __init__(
        self,
        placement: str = "post",
        depth: int = 12,
        layer: int | None = None,
        network: int = 1,
        *,
        tokens: Sequence[str] = ("cat", "black"),
        x: Any = (CAT, BLACK),
    ) -> None:
        check_choice("placement", placement, PLACEMENTS)
        _check_from_one("depth", depth, MOST_LAYERS)
        layer = (depth + 1) // 2 if layer is None else layer
        _check_from_one("layer", layer, depth)
        _check_from_one("network", network, NETWORKS)
        super().__init__(
            placement=placement, depth=depth, layer=layer, network=network, tokens=_words(tokens), x=_vectors(x)
        )

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
            f"Layer {self.layer} of {self.depth} with {TITLES[self.placement]} as a circuit, eight numbers at each "
            f"tap, and three charts over the layers, medians of {NETWORKS} random networks. {'; '.join(said)}."
        )


def _check_from_one(name: str, value: Any, most: int) -> None:
    check_positive_integer(name, value)
    if value > most:
        raise ValueError(f"{name} must be from 1 to {most}, got {value}")


def _words(tokens: Any) -> list[str]:
    if isinstance(tokens, str) or not isinstance(tokens, Sequence) or not all(isinstance(t, str) for t in tokens):
        raise TypeError(f"tokens must be two strings, got {tokens!r}")
    if len(tokens) != 2:
        raise ValueError(f"tokens must be two strings, got {len(tokens)}: {tokens!r}")
    return list(tokens)


def _vectors(value: Any) -> list[list[float]]:
    """Two vectors of 8 numbers, neither of them without spread."""
    rows = as_lists("x", value)
    try:
        numbers = [[float(entry) for entry in row] for row in rows]
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"x must be two vectors of {D_MODEL} numbers, got {value!r}") from error
    if [len(row) for row in numbers] != [D_MODEL, D_MODEL]:
        raise ValueError(f"x must have shape (2, {D_MODEL}), got rows of length {[len(row) for row in numbers]}")
    if not all(math.isfinite(entry) and abs(entry) <= 100 for row in numbers for entry in row):
        raise ValueError(f"x must hold numbers from -100 to 100, got {value!r}")
    if any(max(row) == min(row) for row in numbers):
        raise ValueError(f"x must hold two vectors whose numbers differ from each other, got {value!r}")
    return numbers
