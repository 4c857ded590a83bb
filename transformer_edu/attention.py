"""Attention: every query looks at all keys and takes a weighted mean of their values."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.support.arguments import check_all_vectors, check_attention, check_heads
from transformer_edu.support.cache import KeyValueCache
from transformer_edu.support.shapes import Float, Mask, Tensor


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch q_len d_head"],
    key: Float[Tensor, "*batch k_len d_head"],
    value: Float[Tensor, "*batch k_len d_value"],
    mask: Mask | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = True,
) -> tuple[Float[Tensor, "*batch q_len d_value"], Float[Tensor, "*batch q_len k_len"] | None]:
    """softmax(QKᵀ / √d_head) V (paper, equation 1).

    Args:
        query, key, value: (batch, heads, len, d_head); any leading dimensions work.
        mask: boolean, True = may attend, broadcastable to (batch, heads, q_len, k_len). A query that may attend
            to nothing gets zero weights and a zero output.
        dropout_p: probability of dropping a weight; applies whenever it is above 0.
        need_weights: False uses PyTorch's fused kernel, which never writes the weights down.

    Returns:
        The output (batch, heads, q_len, d_head) and the weights before dropout (batch, heads, q_len, k_len),
        or None in place of the weights when they are not needed.
    """
    check_attention(query, key, value, mask, dropout_p)
    if not need_weights:
        return _fused_attention(query, key, value, mask, dropout_p), None
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (batch, heads, q_len, k_len)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # only matters for a query with nowhere to look
    return F.dropout(weights, dropout_p) @ value, weights


def _fused_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> Tensor:
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout_p)
    mask = torch.atleast_2d(mask)  # the kernel wants its (q_len, k_len)
    nowhere = ~mask.any(dim=-1, keepdim=True)  # queries that may attend to nothing: kernels differ, so we decide
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask | nowhere, dropout_p=dropout_p)
    return output.masked_fill(nowhere, 0.0)


class MultiHeadAttention(nn.Module):
    """Attend in several subspaces at once: Concat(head_1 .. head_h) W_O (paper, section 3.2.2).

    Args:
        d_model: length of the incoming and outgoing vectors.
        num_heads: number of heads; each works in d_head = d_model / num_heads dimensions.
        dropout: probability of dropping an attention weight in training.
        bias: whether the four projections have one.

    Setting `recorder` to a function makes each forward pass hand it the weights (see `record_attention`).
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        check_heads(d_model, num_heads, dropout, bias)
        self.d_model = d_model
        self.num_heads = num_heads
        self.dropout = dropout
        self.query_projection = nn.Linear(d_model, d_model, bias=bias)
        self.key_projection = nn.Linear(d_model, d_model, bias=bias)
        self.value_projection = nn.Linear(d_model, d_model, bias=bias)
        self.output_projection = nn.Linear(d_model, d_model, bias=bias)
        self.recorder: Callable[[Tensor], None] | None = None

    def forward(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        key: Float[Tensor, "batch k_len d_model"],
        value: Float[Tensor, "batch k_len d_model"],
        mask: Mask | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch q_len d_model"]:
        """Attend from `query` to `key` and `value`; with a `cache`, also to the keys and values kept there."""
        check_all_vectors(self.d_model, query=query, key=key, value=value)
        q = self.split_heads(self.query_projection(query))  # (batch, heads, q_len, d_head)
        k = self.split_heads(self.key_projection(key))  # (batch, heads, k_len, d_head)
        v = self.split_heads(self.value_projection(value))
        if cache is not None:
            k, v = cache.append(k, v)
        return self.attend(q, k, v, mask)

    def attend_cached(
        self, query: Float[Tensor, "batch q_len d_model"], cache: KeyValueCache, mask: Mask | None = None
    ) -> Float[Tensor, "batch q_len d_model"]:
        """Attend to the keys and values in `cache` alone, adding none (cross-attention after the first token)."""
        q = self.split_heads(self.query_projection(query))
        return self.attend(q, *cache.kept(), mask)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """All heads at once, (batch, heads, len, d_head) each, merged and projected to (batch, q_len, d_model)."""
        dropout_p = self.dropout if self.training else 0.0
        recorder = self.recorder
        heads, weights = scaled_dot_product_attention(q, k, v, mask, dropout_p, need_weights=recorder is not None)
        if recorder is not None and weights is not None:
            recorder(weights)
        return self.output_projection(self.merge_heads(heads))

    def split_heads(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch heads seq d_head"]:
        """Cut each vector into num_heads pieces: (batch, seq, d_model) -> (batch, heads, seq, d_head)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def merge_heads(self, x: Float[Tensor, "batch heads seq d_head"]) -> Float[Tensor, "batch seq d_model"]:
        """Put the pieces back side by side; the transpose undoes the one in `split_heads`."""
        return x.transpose(1, 2).flatten(-2)
