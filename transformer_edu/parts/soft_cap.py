"""Scores that cannot leave an interval."""

import torch

from transformer_edu.attention import AttentionFunction
from transformer_edu.parts.written_out import attention_with
from transformer_edu.support.shapes import Tensor


def soft_cap(x: Tensor, cap: float) -> Tensor:
    """cap · tanh(x / cap): x where it is small, never beyond ±cap (Gemma 2, of scores and of logits)."""
    return cap * torch.tanh(x / cap)


def capped_attention(cap: float) -> AttentionFunction:
    """As `scaled_dot_product_attention`, its scores capped before the mask: `MultiHeadAttention(..., function=…)`."""

    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        dropout_p: float = 0.0,
        need_weights: bool = True,
        score_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        return attention_with(
            query, key, value, mask, dropout_p, score_bias, change=lambda scores: soft_cap(scores, cap)
        )

    return attention
