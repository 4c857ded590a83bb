"""Attention in seven steps, on numbers small enough to check with a pencil."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.data.examples import hand_example
from transformer_edu.support.validation import check_boolean, check_choice
from transformer_edu.widgets.base import Figure
from transformer_edu.widgets.lists import as_lists

STEPS = ("project", "scores", "scale", "mask", "softmax", "mix", "output")
MASKS = ("none", "causal", "padding")
MAX_SIZE = 8
Number = int | float


def matrix_trait() -> traitlets.List:
    """A matrix as a list of rows: plain JSON."""
    return traitlets.List(traitlets.List()).tag(sync=True)


class AttentionStepper(Figure):
    """One attention head: project, QKᵀ, divide by √d_k, mask, softmax, mix the values, output projection.

    Shapes: x (seq, d_model); w_q and w_k (d_model, d_k); w_v (d_model, d_v); w_o (d_v, d_out); lists or tensors.
    What is left out comes from the hand example. `query` and `key` are the positions of the token that looks
    and of the one looked at, `column` the number chosen where columns are not tokens; all count from 0. `step` is the
    step shown first (1 project … 7 output), `part` the projection shown in step 1 ("q", "k" or "v"). `mask` is "none",
    "causal" or "padding" (the last token is padding). `scale` False leaves out the division by √d_k.

    Vaswani et al. 2017, section 3.2.1, equation 1.
    """

    figure_name: ClassVar[str] = "attention-stepper"

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    x = matrix_trait()
    w_q = matrix_trait()
    w_k = matrix_trait()
    w_v = matrix_trait()
    w_o = matrix_trait()
    step = traitlets.Int().tag(sync=True)
    part = traitlets.Unicode().tag(sync=True)
    query = traitlets.Int().tag(sync=True)
    key = traitlets.Int().tag(sync=True)
    column = traitlets.Int().tag(sync=True)
    scale = traitlets.Bool().tag(sync=True)
    mask = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        tokens: Sequence[str] | None = None,
        x: Any = None,
        w_q: Any = None,
        w_k: Any = None,
        w_v: Any = None,
        w_o: Any = None,
        *,
        step: int = 5,
        part: str = "q",
        query: int | None = None,
        key: int | None = None,
        column: int = 1,
        scale: bool = True,
        mask: str = "none",
    ) -> None:
        hand = hand_example()
        given = {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
        matrices = {
            name: _matrix(name, getattr(hand, name) if value is None else value) for name, value in given.items()
        }
        words = _words(hand.tokens if tokens is None else tokens)
        _check_shapes(words, **matrices)
        check_choice("part", part, ("q", "k", "v"))
        check_choice("mask", mask, MASKS)
        check_boolean("scale", scale)
        last = len(words) - 1
        super().__init__(
            tokens=words,
            **matrices,
            step=_position("step", step, 1, len(STEPS)),
            part=part,
            query=last if query is None else _position("query", query, 0, last),
            key=max(last - 1, 0) if key is None else _position("key", key, 0, last),
            column=_position("column", column, 0, MAX_SIZE - 1),
            scale=scale,
            mask=mask,
        )

    def alt_text(self) -> str:
        """The step, and where the chosen token looks."""
        token = self.tokens[self.query]
        shares = [
            f"{weight:.3f} to {word}" for weight, word in zip(self._weights(self.query), self.tokens, strict=True)
        ]
        return (
            f"Attention in seven steps on the tokens {', '.join(self.tokens)}; step {self.step}, "
            f"{STEPS[self.step - 1]}, is shown. {token} gives {', '.join(shares)} of its attention."
        )

    def _weights(self, query: int) -> list[float]:
        """The query's attention weights, for the alt text: softmax over the keys it may see."""
        last = len(self.tokens) - 1
        q = _times(self.x[query], self.w_q)
        divisor = math.sqrt(len(self.w_k[0])) if self.scale else 1.0
        scores = [_dot(q, _times(row, self.w_k)) / divisor for row in self.x]
        blocked = [
            (self.mask == "causal" and j > query) or (self.mask == "padding" and j == last) for j in range(last + 1)
        ]
        seen = [score for score, hidden in zip(scores, blocked, strict=True) if not hidden]
        top = max(seen, default=0.0)
        powers = [0.0 if hidden else math.exp(score - top) for score, hidden in zip(scores, blocked, strict=True)]
        return [power / (sum(powers) or 1.0) for power in powers]


def _dot(a: Sequence[Number], b: Sequence[Number]) -> Number:
    return sum(p * q for p, q in zip(a, b, strict=True))


def _times(row: Sequence[Number], matrix: Sequence[Sequence[Number]]) -> list[Number]:
    return [_dot(row, column) for column in zip(*matrix, strict=True)]


def _words(tokens: Any) -> list[str]:
    if (
        isinstance(tokens, str)
        or not isinstance(tokens, Sequence)
        or not all(isinstance(token, str) for token in tokens)
    ):
        raise TypeError(f"tokens must be a list of strings, got {tokens!r}")
    if not 1 <= len(tokens) <= MAX_SIZE:
        raise ValueError(f"tokens must be 1 to {MAX_SIZE} strings, got {len(tokens)}: {tokens!r}")
    return list(tokens)


def _matrix(name: str, value: Any) -> list[list[Number]]:
    """Rows of plain numbers, whole ones as int, from a list of lists or anything with `tolist`."""
    rows = as_lists(name, value)
    try:
        numbers = [[float(entry) for entry in row] for row in rows]
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} must be a matrix of numbers (a list of rows or a 2-D tensor), got {value!r}"
        ) from error
    widths = {len(row) for row in numbers}
    if not 1 <= len(numbers) <= MAX_SIZE or len(widths) != 1 or not 1 <= next(iter(widths)) <= MAX_SIZE:
        raise ValueError(f"{name} must have 1 to {MAX_SIZE} rows of one length, 1 to {MAX_SIZE}, got {value!r}")
    if not all(math.isfinite(entry) for row in numbers for entry in row):
        raise ValueError(f"{name} must hold finite numbers, got {value!r}")
    return [[int(entry) if entry.is_integer() else entry for entry in row] for row in numbers]


def _check_shapes(tokens: list[str], x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any) -> None:
    d_model, d_k, d_v = len(x[0]), len(w_q[0]), len(w_v[0])
    if len(x) != len(tokens):
        raise ValueError(f"x must have one row for each of the {len(tokens)} tokens, got {len(x)} rows")
    for name, matrix, rows in (("w_q", w_q, d_model), ("w_k", w_k, d_model), ("w_v", w_v, d_model), ("w_o", w_o, d_v)):
        if len(matrix) != rows:
            raise ValueError(f"{name} must have {rows} rows, as many as its input has columns, got {len(matrix)}")
    if len(w_k[0]) != d_k:
        raise ValueError(f"w_k must have {d_k} columns, as many as w_q, got {len(w_k[0])}")


def _position(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, got {value}")
    return value
