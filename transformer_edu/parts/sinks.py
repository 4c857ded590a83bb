"""Somewhere to look that is no token."""

from typing import Any

import torch
from torch import nn

from transformer_edu.parts.written_out import attention_with
from transformer_edu.support.arguments import check_sizes
from transformer_edu.support.shapes import Tensor


class SinkAttention(nn.Module):
    """An attention function whose softmax has one more score, learned for each head, that leads to no value.

    A query that finds nothing can give its attention there, in place of the first token (Xiao et al., 2023; gpt-oss).
    It stands where `scaled_dot_product_attention` stands: `MultiHeadAttention(..., function=SinkAttention(num_heads))`.

    Args:
        num_heads: one sink for each head.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        check_sizes(num_heads=num_heads)
        self.sinks = nn.Parameter(torch.zeros(num_heads))

    def forward(self, *inputs: Any) -> tuple[Tensor, Tensor]:
        """The output (batch, heads, q_len, d_head) and the weights on tokens, whose sum is below 1."""
        return attention_with(*inputs, weigh=self.weigh)

    def weigh(self, scores: Tensor) -> Tensor:
        """The tokens' part of a softmax over them and the head's sink, (batch, heads, q_len, k_len)."""
        sinks = self.sinks[:, None, None].expand(*scores.shape[:-1], 1)
        return torch.cat([scores, sinks], dim=-1).softmax(dim=-1)[..., :-1]
