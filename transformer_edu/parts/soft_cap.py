"""Scores that cannot leave an interval."""

from functools import partial

import torch

from transformer_edu.attention import AttentionFunction
from transformer_edu.parts.written_out import attention_with
from transformer_edu.support.shapes import Tensor


def soft_cap(x: Tensor, cap: float) -> Tensor:
    """cap · tanh(x / cap): x where it is small, never beyond ±cap (Gemma 2, of scores and of logits)."""
    return cap * torch.tanh(x / cap)


def capped_attention(cap: float) -> AttentionFunction:
    """As `scaled_dot_product_attention`, its scores capped before the mask: `MultiHeadAttention(..., function=…)`."""
    return partial(attention_with, change=partial(soft_cap, cap=cap))
