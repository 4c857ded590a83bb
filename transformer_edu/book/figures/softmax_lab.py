"""Softmax, temperature and √d_k: when one share takes everything, no gradient passes."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import check_one_of, check_real
from transformer_edu.book.figures.softmax_lab_data import DRAWS, check_scores, draws_of_length

SIZES = (4, 16, 64, 256, 1024)
COLDEST, HOTTEST = 0.1, 10.0


class SoftmaxLab(Figure):
    """One row of attention scores through the softmax, without and with the division by √d_k, side by side.

    `scores` are q · k / √d_k for each key: numbers with a standard deviation of about one, as random queries and keys
    give. The figure multiplies them by √d_k (so large are q · k themselves), divides again on one side, then by
    `temperature` (0.1 to 10) on both, and shows the weights and their derivatives with respect to the scores. `d_k` is
    one of 4, 16, 64, 256, 1024.

    Vaswani et al. 2017, section 3.2.1 and its footnote 4.
    """

    figure_name: ClassVar[str] = "softmax-lab"

    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    draws = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    d_k = traitlets.Int().tag(sync=True)
    temperature = traitlets.Float().tag(sync=True)

    def __init__(self, scores: Any = None, *, d_k: int = 64, temperature: float | int = 1.0) -> None:
        numbers = check_scores(DRAWS[0] if scores is None else scores)
        check_one_of("d_k", d_k, SIZES)
        super().__init__(
            scores=numbers,
            draws=draws_of_length(numbers),
            d_k=d_k,
            temperature=check_real("temperature", temperature, COLDEST, HOTTEST),
        )

    def alt_text(self) -> str:
        """Both largest shares, and the norms of both gradients."""
        raw, scaled = (_shares(self.scores, divisor * self.temperature) for divisor in (1 / math.sqrt(self.d_k), 1.0))
        return (
            f"The same {len(self.scores)} scores through the softmax twice, for d_k = {self.d_k} and temperature "
            f"{self.temperature:g}. Without scaling the largest weight is {max(raw):.3f} and the gradient has the norm "
            f"{_gradient_norm(raw):.4f}; divided by the root of d_k they are {max(scaled):.3f} and "
            f"{_gradient_norm(scaled):.4f}."
        )


def _shares(scores: Sequence[float], divisor: float) -> list[float]:
    """softmax(scores / divisor)."""
    top = max(scores)
    powers = [math.exp((score - top) / divisor) for score in scores]
    return [power / sum(powers) for power in powers]


def _gradient_norm(weights: Sequence[float]) -> float:
    """Frobenius norm of ∂w_i/∂s_j = w_i (1[i = j] - w_j)."""
    return math.sqrt(sum((w * ((i == j) - v)) ** 2 for i, w in enumerate(weights) for j, v in enumerate(weights)))
