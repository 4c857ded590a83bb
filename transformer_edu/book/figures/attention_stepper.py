"""Attention in seven steps, on numbers small enough to check with a pencil."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.figures.attention_stepper_data import MAX_SIZE, check_matrices
from transformer_edu.book.figures.base import Figure, matrix_trait
from transformer_edu.book.figures.inputs import check_index, check_range
from transformer_edu.masks import causal_mask
from transformer_edu.support.validation import check_boolean, check_choice

STEPS = ("project", "scores", "scale", "mask", "softmax", "mix", "output")
MASKS = ("none", "causal", "padding")


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
        words, matrices = check_matrices(tokens, x=x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
        check_choice("part", part, ("q", "k", "v"))
        check_choice("mask", mask, MASKS)
        check_boolean("scale", scale)
        count = len(words)
        super().__init__(
            tokens=words,
            **matrices,
            step=check_range("step", step, 1, len(STEPS)),
            part=part,
            query=count - 1 if query is None else check_index("query", query, count),
            key=max(count - 2, 0) if key is None else check_index("key", key, count),
            column=check_index("column", column, MAX_SIZE),
            scale=scale,
            mask=mask,
        )

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
