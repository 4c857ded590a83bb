"""Attention: every query looks at all keys and takes a weighted mean of their values."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.support.arguments import check_all_vectors, check_attention, check_heads
from transformer_edu.support.cache import HeadVectors, KeysValues
from transformer_edu.support.kernels import fused_attention
from transformer_edu.support.shapes import Float, Mask, Tensor, Vectors
from transformer_edu.support.validation import check_vectors

Rotate = Callable[[Tensor, int], Tensor]  # (batch, heads, seq, d_head) and the first row's position -> the same shape
Weights = Float[Tensor, "*batch q_len k_len"]
AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]  # `scaled_dot_product_attention`, or another


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch q_len d_head"],
    key: Float[Tensor, "*batch k_len d_head"],
    value: Float[Tensor, "*batch k_len d_value"],
    mask: Mask | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = True,
    score_bias: Float[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch q_len d_value"], Weights | None]:
    """softmax(QKᵀ / √d_head) V (paper, equation 1).

    Args:
        query, key, value: (batch, heads, len, d_head); any leading dimensions work.
        mask: boolean, True = may attend, broadcastable to (batch, heads, q_len,
            k_len). A query that may see nothing gets zero weights, zero output.
        dropout_p: probability of dropping a weight; applies whenever it is above 0.
        need_weights: False uses PyTorch's fused kernel, which never writes them.
        score_bias: added to the scores before the softmax, broadcastable like the
            mask (T5, ALiBi).

    Returns:
        The output (batch, heads, q_len, d_head) and the weights before dropout
        (batch, heads, q_len, k_len), or None in their place if they are not needed.
    """
    check_attention(query, key, value, mask, dropout_p, score_bias)
    if not need_weights:
        return fused_attention(query, key, value, mask, dropout_p, score_bias), None
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if score_bias is not None:
        scores = scores + score_bias
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # for a query that sees nothing
    return F.dropout(weights, dropout_p) @ value, weights


class MultiHeadAttention(nn.Module):
    """Attend in several subspaces at once: Concat(head_1 .. head_h) W_O (paper, section 3.2.2).

    Args:
        d_model: length of the incoming and outgoing vectors.
        num_heads: number of heads; each works in d_head = d_model / num_heads dimensions (the paper's d_k).
        dropout: probability of dropping an attention weight in training.
        bias: whether the four projections have one.
        num_kv_heads: heads of keys and values, each shared by a group of queries; None: as many as queries have.
        rotate: turns queries and keys (batch, heads, seq, d_head) by their positions, counted from an offset.
        d_head: length of a head's vectors, if it is not d_model / num_heads.
        function: what maps queries, keys and values to outputs; None: `scaled_dot_product_attention`.

    Setting `recorder` to a function makes each forward pass hand it the weights (see `record_attention`).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        num_kv_heads: int | None = None,
        rotate: Rotate | None = None,
        d_head: int | None = None,
        function: AttentionFunction | None = None,
    ) -> None:
        super().__init__()
        kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_heads(d_model, num_heads, dropout, bias, kv_heads, d_head)
        self.d_model = d_model
        self.num_heads = num_heads
        self.num_kv_heads = kv_heads
        self.d_head = d_model // num_heads if d_head is None else d_head
        self.dropout = dropout
        self.rotate = rotate
        self.function = function
        self.query_projection = nn.Linear(d_model, num_heads * self.d_head, bias=bias)
        self.key_projection = nn.Linear(d_model, kv_heads * self.d_head, bias=bias)
        self.value_projection = nn.Linear(d_model, kv_heads * self.d_head, bias=bias)
        self.output_projection = nn.Linear(num_heads * self.d_head, d_model, bias=bias)
        self.recorder: Callable[[Tensor], None] | None = None

    def forward(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        key: Float[Tensor, "batch k_len d_model"],
        value: Float[Tensor, "batch k_len d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch q_len d_model"]:
        """Attend from `query` to `key` and `value`: both steps in one."""
        check_all_vectors(self.d_model, query=query, key=key, value=value)
        return self.attend_in_heads(self.queries(query), self.keys(key), self.values(value), mask)

    def keys_values(self, x: Vectors, offset: int = 0) -> KeysValues:
        """What others see of x (batch, seq, d_model), whose first row stands at position `offset`.

        Returns keys and values (batch, kv_heads, seq, d_head), which a cache can keep.
        """
        check_vectors("x", x, self.d_model)
        return self.keys(x, offset), self.values(x)

    def attend(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        keys_values: KeysValues,
        mask: Mask | None = None,
        score_bias: Float[Tensor, "..."] | None = None,
        offset: int = 0,
    ) -> Float[Tensor, "batch q_len d_model"]:
        """Attend from `query`, whose first row stands at position `offset`, to what `keys_values` gave."""
        check_vectors("query", query, self.d_model)
        return self.attend_in_heads(self.queries(query, offset), *keys_values, mask, score_bias)

    def attend_in_heads(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        score_bias: Tensor | None = None,
    ) -> Tensor:
        """All heads at once, each (batch, heads, len, d_head); then projected."""
        k, v = self.for_each_query(k), self.for_each_query(v)
        dropout_p = self.dropout if self.training else 0.0
        recorder = self.recorder
        attend = self.function or scaled_dot_product_attention
        is_seen = recorder is not None
        heads, weights = attend(q, k, v, mask, dropout_p, is_seen, score_bias)
        if recorder is not None and weights is not None:
            recorder(weights)
        return self.output_projection(self.merge_heads(heads))

    def queries(self, x: Vectors, offset: int = 0) -> HeadVectors:
        """x W_Q in heads, rotated: (batch, heads, q_len, d_head)."""
        q = self.split_heads(self.query_projection(x))
        return q if self.rotate is None else self.rotate(q, offset)

    def keys(self, x: Vectors, offset: int = 0) -> HeadVectors:
        """x W_K in heads, rotated: (batch, kv_heads, k_len, d_head)."""
        k = self.split_heads(self.key_projection(x))
        return k if self.rotate is None else self.rotate(k, offset)

    def values(self, x: Vectors) -> HeadVectors:
        """x W_V in heads: (batch, kv_heads, k_len, d_head)."""
        return self.split_heads(self.value_projection(x))

    def for_each_query(self, x: Float[Tensor, "batch kv_heads k_len d_head"]) -> HeadVectors:
        """Repeat shared keys or values for their group of queries: (batch, kv_heads, ...) -> (batch, heads, ...)."""
        group = self.num_heads // self.num_kv_heads
        return x if group == 1 else x.repeat_interleave(group, dim=1)

    def split_heads(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch heads seq d_head"]:
        """Cut each vector into pieces of d_head: (batch, seq, d_model) -> (batch, heads, seq, d_head)."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def merge_heads(self, x: Float[Tensor, "batch heads seq d_head"]) -> Float[Tensor, "batch seq d_model"]:
        """Put the pieces back side by side; the transpose undoes the one in `split_heads`."""
        return x.transpose(1, 2).flatten(-2)
