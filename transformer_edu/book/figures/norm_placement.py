"""A vector through a layer: where the norm stands, and what that does to a stack and to the signal that comes back."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import check_range, check_words
from transformer_edu.book.figures.norm_placement_data import (
    BLACK,
    CAT,
    MOST_LAYERS,
    NETWORKS,
    PLACEMENTS,
    check_vectors,
    median_curves,
)
from transformer_edu.support.validation import check_choice

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

    placement = traitlets.Unicode().tag(sync=True)
    depth = traitlets.Int().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    network = traitlets.Int().tag(sync=True)
    measure = traitlets.Unicode().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    x = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)

    def __init__(
        self,
        placement: str = "post",
        depth: int = MOST_LAYERS,
        layer: int | None = None,
        network: int = 1,
        measure: str = "signal",
        *,
        tokens: Sequence[str] = ("cat", "black"),
        x: Any = (CAT, BLACK),
    ) -> None:
        check_choice("placement", placement, PLACEMENTS)
        check_choice("measure", measure, MEASURES)
        depth = check_range("depth", depth, 1, MOST_LAYERS)
        super().__init__(
            placement=placement,
            depth=depth,
            layer=(depth + 1) // 2 if layer is None else check_range("layer", layer, 1, depth),
            network=check_range("network", network, 1, NETWORKS),
            measure=measure,
            tokens=check_words("tokens", tokens, 2, 2),
            x=check_vectors(x),
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
            f"The wiring of a layer with {TITLES[self.placement]}, and a chart of the {self.measure} over {self.depth} "
            f"layers, medians of {NETWORKS} random networks. {'; '.join(said)}."
        )
