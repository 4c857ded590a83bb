"""Attention with one product for queries, keys and values in a search, and with quick dropout in training."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu import attention
from transformer_edu.fast.dropout import draws_quickly, dropout
from transformer_edu.fast.linear import Linear
from transformer_edu.fast.products import Weights
from transformer_edu.fast.search import current_search, search_with_products
from transformer_edu.support.cache import HeadVectors, KeysValues
from transformer_edu.support.plain import has_hooks
from transformer_edu.support.shapes import Tensor, Vectors
from transformer_edu.support.validation import check_vectors


class MultiHeadAttention(attention.MultiHeadAttention):
    """`transformer_edu.MultiHeadAttention` in all but speed."""

    def keys_values(self, x: Vectors, offset: int = 0) -> KeysValues:
        """Keys and values of x; those of a search's newest tokens come out of one product with their queries."""
        search = search_with_products(x)
        if search is None or x.shape[1] > 1 or not self.can_join_projections():
            return super().keys_values(x, offset)
        check_vectors("x", x, self.d_model)
        projected = search.product(self, x, self.joined_weights)  # (batch, 1, d_model and twice the keys' length)
        sizes = [part.out_features for part in self._projections()]
        q, k, v = (self.split_heads(part) for part in projected.split(sizes, dim=-1))
        if self.rotate is not None:
            q, k = self.rotate(q, offset), self.rotate(k, offset)
        search.keep_queries(self, x, q)
        return k, v

    def queries(self, x: Vectors, offset: int = 0) -> HeadVectors:
        """x W_Q in heads; it may have been computed already."""
        search = current_search()
        kept = None if search is None else search.kept_queries(self, x)
        return super().queries(x, offset) if kept is None else kept

    def can_join_projections(self) -> bool:
        """Whether queries, keys and values can come out of one product."""
        alike = len({(part.in_features, part.bias is None) for part in self._projections()}) == 1
        return alike and all(type(part) is Linear and not has_hooks(part) for part in self._projections())

    def joined_weights(self) -> Weights:
        """W_Q, W_K and W_V one below the other, and their biases."""
        biases: list[Tensor] = [part.bias for part in self._projections() if part.bias is not None]
        weights: list[Tensor] = [part.weight for part in self._projections()]
        return torch.cat(weights), torch.cat(biases) if biases else None

    def _projections(self) -> tuple[nn.Linear, ...]:
        return self.query_projection, self.key_projection, self.value_projection

    def attend_in_heads(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, score_bias: Tensor | None = None
    ) -> Tensor:
        """All heads at once; neighbouring rows of q may share one row of k and v (see `SharedCache`)."""
        search, usual = current_search(), self.recorder is not None or score_bias is not None
        additive = None if search is None or self.training or usual else search.additive(mask, q.dtype)
        if additive is not None:
            heads = attention_to_sources(q, self.for_each_query(k), self.for_each_query(v), additive)
            return self.output_projection(self.merge_heads(heads))
        sharing = q.shape[0] // k.shape[0]
        k, v = (x if sharing == 1 else x.repeat_interleave(sharing, dim=0) for x in (k, v))
        drops = self.training and self.dropout > 0 and not usual
        if drops and draws_quickly(q, q[..., 0].numel() * k.shape[-2]):
            heads = _attention_with_dropout(q, self.for_each_query(k), self.for_each_query(v), mask, self.dropout)
            return self.output_projection(self.merge_heads(heads))
        return super().attend_in_heads(q, k, v, mask, score_bias)


def attention_to_sources(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention (batch, heads, 1, d_head) of a search's newest tokens to their sources.

    Where k and v have fewer rows than q, as many neighbouring rows of q belong to one source: they become several
    queries of one row, so that each source is read once.
    """
    sharing = q.shape[0] // k.shape[0]
    if sharing == 1:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    queries = q.unflatten(0, (-1, sharing)).squeeze(3).transpose(1, 2)  # (sources, heads, sharing, d_head)
    output = F.scaled_dot_product_attention(queries, k, v, attn_mask=mask[::sharing])
    return output.transpose(1, 2).flatten(0, 1).unsqueeze(2)


def _attention_with_dropout(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float) -> Tensor:
    """`scaled_dot_product_attention` with quick dropout: on a CPU, PyTorch's kernel writes the weights down as well."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (batch, heads, q_len, k_len)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return dropout(weights, p) @ value
