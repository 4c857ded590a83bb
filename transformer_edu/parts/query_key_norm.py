"""Queries and keys of one length, so that no score grows with training."""

from typing import Any

from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.support.cache import HeadVectors
from transformer_edu.support.shapes import Tensor, Vectors


class NormedAttention(MultiHeadAttention):
    """Attention that normalizes queries and keys before they are turned (Henry et al., 2020).

    Args:
        d_model, num_heads: those of `MultiHeadAttention`, and so are the further arguments.
        query_norm, key_norm: over the numbers of one head, d_head (Qwen 3, Gemma 3), or over those of all heads
            together (OLMo 2). Which it is follows from the norm's own `d_model`.
    """

    def __init__(
        self, d_model: int, num_heads: int, *, query_norm: nn.Module, key_norm: nn.Module, **more: Any
    ) -> None:
        super().__init__(d_model, num_heads, **more)
        self.query_norm = query_norm
        self.key_norm = key_norm

    def queries(self, x: Vectors, offset: int = 0) -> HeadVectors:
        """Norm(x W_Q) in heads, rotated: (batch, heads, q_len, d_head)."""
        q = self.normed(self.query_projection(x), self.query_norm)
        return q if self.rotate is None else self.rotate(q, offset)

    def keys(self, x: Vectors, offset: int = 0) -> HeadVectors:
        """Norm(x W_K) in heads, rotated: (batch, kv_heads, k_len, d_head)."""
        k = self.normed(self.key_projection(x), self.key_norm)
        return k if self.rotate is None else self.rotate(k, offset)

    def normed(self, x: Tensor, norm: Any) -> HeadVectors:
        """Cut into heads, and normalize each of them; or all at once, before the cut."""
        if norm.d_model == self.d_head:
            return norm(self.split_heads(x))
        return self.split_heads(norm(x))
