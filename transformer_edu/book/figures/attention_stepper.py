"""Attention in seven steps, on numbers small enough to check with a pencil."""

from typing import Any, ClassVar

import torch

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.figures import fields
from transformer_edu.book.figures.base import Figure, matrix_trait
from transformer_edu.book.figures.inputs import check_matrix
from transformer_edu.data.examples import hand_example
from transformer_edu.masks import causal_mask

STEPS = ("project", "scores", "scale", "mask", "softmax", "mix", "output")
MASKS = ("none", "causal", "padding")
MAX_SIZE = 8


def _matrix(before: str, like: str = "") -> Any:
    """A matrix with a row for each column of the one before it, and as many columns as the one that it is like."""

    def check(name: str, value: Any, so: Any) -> list[list[float | int]]:
        rows = _rows_of(name, getattr(hand_example(), name) if value is None else value)
        if before == "tokens" and len(rows) != len(so.tokens):
            raise ValueError(f"x must have one row for each of the {len(so.tokens)} tokens, got {len(rows)} rows")
        if before != "tokens" and len(rows) != (count := len(getattr(so, before)[0])):
            raise ValueError(f"{name} must have {count} rows, {before}'s columns, got {len(rows)}")
        if like and len(rows[0]) != (count := len(getattr(so, like)[0])):
            raise ValueError(f"{name} must have {count} columns, as many as {like}, got {len(rows[0])}")
        return rows

    return fields.field(matrix_trait(), None, check)


def _rows_of(name: str, value: Any) -> list[list[float | int]]:
    """At most 8 rows of at most 8 numbers, whole ones as int."""
    rows = check_matrix(name, value)
    widths = {len(row) for row in rows}
    if not 1 <= len(rows) <= MAX_SIZE or len(widths) != 1 or not 1 <= max(widths) <= MAX_SIZE:
        raise ValueError(f"{name} must have 1 to {MAX_SIZE} rows of one length, 1 to {MAX_SIZE}, got {value!r}")
    return [[int(entry) if entry.is_integer() else entry for entry in row] for row in rows]


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

    tokens = fields.words(lambda so: hand_example().tokens, 1, MAX_SIZE)
    x = _matrix("tokens")
    w_q = _matrix("x")
    w_k = _matrix("x", like="w_q")
    w_v = _matrix("x")
    w_o = _matrix("w_v")
    step = fields.whole(5, 1, len(STEPS))
    part = fields.choice("q", ("q", "k", "v"))
    query = fields.index(lambda so: len(so.tokens) - 1, lambda so: len(so.tokens))
    key = fields.index(lambda so: max(len(so.tokens) - 2, 0), lambda so: len(so.tokens))
    column = fields.index(1, MAX_SIZE)
    scale = fields.switch(True)
    mask = fields.choice("none", MASKS)

    def alt_text(self) -> str:
        """The step, and where the chosen token looks."""
        shares = [f"{weight:.3f} to {word}" for weight, word in zip(self._weights(), self.tokens, strict=True)]
        return (
            f"Attention in seven steps on the tokens {', '.join(self.tokens)}; step {self.step}, "
            f"{STEPS[self.step - 1]}, is shown. {self.tokens[self.query]} gives {', '.join(shares)} of its attention."
        )

    def _weights(self) -> list[float]:
        """The attention weights of the chosen query, one for each token."""
        x, w_q, w_k = (torch.tensor(rows, dtype=torch.float64) for rows in (self.x, self.w_q, self.w_k))
        query, key = x @ w_q, x @ w_k
        if not self.scale:
            query = query * query.shape[-1] ** 0.5
        mask = causal_mask(len(x)) if self.mask == "causal" else torch.ones(len(x), len(x), dtype=torch.bool)
        if self.mask == "padding":
            mask[:, -1] = False
        weights: Any = scaled_dot_product_attention(query, key, key, mask)[1]
        return weights[self.query].tolist()
