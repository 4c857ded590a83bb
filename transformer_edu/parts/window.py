"""A past that ends after so many tokens."""

from typing import Any

import torch
from torch import nn

from transformer_edu.attention import AttentionFunction, scaled_dot_product_attention
from transformer_edu.masks import causal_mask
from transformer_edu.support.arguments import check_sizes
from transformer_edu.support.shapes import Bool, Tensor


def window_mask(size: int, window: int, device: torch.device | str | None = None) -> Bool[Tensor, "{size} {size}"]:
    """Let position q attend to itself and to the `window` - 1 positions before it (Beltagy et al., 2020; Mistral).

    Through n such layers a token hears of n · (window - 1) tokens before it.

    >>> window_mask(4, 2).int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """
    check_sizes(window=window)
    causal = causal_mask(size, device)
    return causal & ~causal.tril(-window)


class WindowedAttention(nn.Module):
    """An attention function whose queries, the last of the keys' places, see the window alone of what a mask leaves.

    It stands where `scaled_dot_product_attention` stands: `MultiHeadAttention(..., function=WindowedAttention(4096))`.

    Args:
        window: tokens that each one sees, itself among them.
        function: what attends, if it is not that one: `SinkAttention(heads)` (gpt-oss).
    """

    def __init__(self, window: int, function: AttentionFunction = scaled_dot_product_attention) -> None:
        super().__init__()
        check_sizes(window=window)
        self.window, self.function = window, function

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *more: Any
    ) -> tuple[Tensor, Tensor | None]:
        """The output (batch, heads, q_len, d_head) and the weights, as the function gives them."""
        near = window_mask(key.shape[-2], self.window, key.device)[key.shape[-2] - query.shape[-2] :]
        return self.function(query, key, value, near if mask is None else mask & near, *more)
