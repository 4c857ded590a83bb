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
from transformer_edu.support.arguments import check_all_vectors
from transformer_edu.support.cache import KeyValueCache
from transformer_edu.support.plain import has_hooks
from transformer_edu.support.shapes import Float, Mask, Tensor


class MultiHeadAttention(attention.MultiHeadAttention):
    """`transformer_edu.MultiHeadAttention` in all but speed."""

    def forward(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        key: Float[Tensor, "batch k_len d_model"],
        value: Float[Tensor, "batch k_len d_model"],
        mask: Mask | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch q_len d_model"]:
        """As in the plain class; in a search, self-attention multiplies once instead of three times."""
        search = search_with_products(query)
        if search is None or not (query is key is value) or not self._can_join_projections():
            return super().forward(query, key, value, mask, cache)
        check_all_vectors(self.d_model, query=query)
        projected = search.product(self, query, self._joined_weights)  # (batch, q_len, 3 d_model)
        q, k, v = (self.split_heads(part) for part in projected.chunk(3, dim=-1))
        if cache is not None:
            k, v = cache.append(k, v)
        return self.attend(q, k, v, mask)

    def _can_join_projections(self) -> bool:
        alike = len({(part.weight.shape, part.bias is None) for part in self._projections()}) == 1
        return alike and all(type(part) is Linear and not has_hooks(part) for part in self._projections())

    def _joined_weights(self) -> Weights:
        biases: list[Tensor] = [part.bias for part in self._projections() if part.bias is not None]
        weights: list[Tensor] = [part.weight for part in self._projections()]
        return torch.cat(weights), torch.cat(biases) if biases else None

    def _projections(self) -> tuple[nn.Linear, ...]:
        return self.query_projection, self.key_projection, self.value_projection

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """As in the plain class."""
        search, recorded = current_search(), self.recorder is not None
        additive = None if search is None or self.training or recorded else search.additive(mask, q.dtype)
        if additive is not None:
            return self.output_projection(self.merge_heads(attention_to_sources(q, k, v, additive)))
        sharing = q.shape[0] // k.shape[0]  # see SharedCache
        k, v = (x if sharing == 1 else x.repeat_interleave(sharing, dim=0) for x in (k, v))
        drops = self.training and self.dropout > 0 and not recorded
        if drops and draws_quickly(q, q[..., 0].numel() * k.shape[-2]):
            heads = _attention_with_dropout(q, k, v, mask, self.dropout)
            return self.output_projection(self.merge_heads(heads))
        return super().attend(q, k, v, mask)


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
