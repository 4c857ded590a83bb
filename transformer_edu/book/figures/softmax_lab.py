"""Softmax, temperature and √d_k: when one share takes everything, no gradient passes."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import field, made, one_of, real
from transformer_edu.book.figures.inputs import check_numbers

SIZES = tuple(2**power for power in range(2, 11))
COLDEST, HOTTEST = 0.1, 10.0
MAX_KEYS = 8
MAX_SCORE = 100.0
# torch.randn(6, 6, generator=torch.Generator().manual_seed(43263)), rounded to one decimal. The seed was looked for:
# in the first draw the winner leads by 0.6, as is common; in the third the first two are almost tied.
DRAWS = (
    (-0.3, 1.4, -1.5, 0.1, 0.8, 0.5),
    (-0.1, 0.9, -0.2, -0.8, -0.2, -1.4),
    (-2.0, 1.0, 0.3, -0.8, 0.9, -0.1),
    (-1.2, -2.2, -0.5, -1.1, 1.6, 0.7),
    (-1.5, -0.5, 0.8, -0.3, -0.2, 0.2),
    (-0.3, 1.9, 0.3, 0.6, -0.1, -0.7),
)


class SoftmaxLab(Figure):
    """One row of attention scores through the softmax, without and with the division by √d_k, side by side.

    `scores` are q · k / √d_k for each key: numbers with a standard deviation of about one, as random queries and keys
    give. The figure multiplies them by √d_k (so large are q · k themselves), divides again on one side, then by
    `temperature` (0.1 to 10) on both, and shows the weights and their derivatives with respect to the scores. `d_k` is
    a power of two from 4 to 1024.

    Vaswani et al. 2017, section 3.2.1 and its footnote 4.
    """

    figure_name: ClassVar[str] = "softmax-lab"

    scores = field(
        traitlets.List(traitlets.Float()), lambda so: DRAWS[0], lambda name, value, so: _check_scores(name, value)
    )
    draws = made(traitlets.List(traitlets.List(traitlets.Float())), lambda so: _draws_of_length(so.scores))
    d_k = one_of(64, SIZES)
    temperature = real(1.0, COLDEST, HOTTEST)

    def alt_text(self) -> str:
        """Both largest shares, and the norms of both gradients."""
        raw, scaled = (_shares(self.scores, divisor * self.temperature) for divisor in (1 / math.sqrt(self.d_k), 1.0))
        return (
            f"The same {len(self.scores)} scores through the softmax twice, for d_k = {self.d_k} and temperature "
            f"{self.temperature:g}. Without scaling the largest weight is {max(raw):.3f} and the gradient has the norm "
            f"{_gradient_norm(raw):.4f}; divided by the root of d_k they are {max(scaled):.3f} and "
            f"{_gradient_norm(scaled):.4f}."
        )


def _check_scores(name: str, value: Any) -> list[float]:
    """One score for each of 2 to 8 keys."""
    numbers: list[float] = check_numbers(name, value, 1, "a list of numbers")
    if not 2 <= len(numbers) <= MAX_KEYS:
        raise ValueError(f"{name} must be 2 to {MAX_KEYS} numbers, got {len(numbers)}: {value!r}")
    if not all(abs(number) <= MAX_SCORE for number in numbers):
        raise ValueError(f"{name} must be finite, from -{MAX_SCORE:g} to {MAX_SCORE:g}, got {value!r}")
    return numbers


def _draws_of_length(scores: list[float]) -> list[list[float]]:
    """The six draws, as long as the scores; of longer scores there is no other draw."""
    if len(scores) > len(DRAWS[0]):
        return [scores]
    return [list(draw[: len(scores)]) for draw in DRAWS]


def _shares(scores: Sequence[float], divisor: float) -> list[float]:
    """softmax(scores / divisor)."""
    top = max(scores)
    powers = [math.exp((score - top) / divisor) for score in scores]
    return [power / sum(powers) for power in powers]


def _gradient_norm(weights: Sequence[float]) -> float:
    """Frobenius norm of ∂w_i/∂s_j = w_i (1[i = j] - w_j)."""
    return math.sqrt(sum((w * ((i == j) - v)) ** 2 for i, w in enumerate(weights) for j, v in enumerate(weights)))
