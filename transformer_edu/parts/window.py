"""A past that ends after so many tokens."""

import torch

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


def windowed(window: int, function: AttentionFunction = scaled_dot_product_attention) -> AttentionFunction:
    """An attention function whose queries, the last of the keys' places, see the window alone of what a mask leaves."""
    check_sizes(window=window)

    def attention(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *more: object
    ) -> tuple[Tensor, Tensor | None]:
        near = window_mask(key.shape[-2], window, key.device)[key.shape[-2] - query.shape[-2] :]
        return function(query, key, value, near if mask is None else mask & near, *more)

    return attention
