"""Attention with quick dropout in training, and with its search's additive mask."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F

from transformer_edu import attention
from transformer_edu.fast.dropout import draws_quickly, dropout
from transformer_edu.fast.search import current_search
from transformer_edu.support.shapes import Tensor


class MultiHeadAttention(attention.MultiHeadAttention):
    """`transformer_edu.MultiHeadAttention` in all but speed."""

    def attend_in_heads(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, score_bias: Tensor | None = None
    ) -> Tensor:
        """All heads at once, each (batch, heads, len, d_head); then projected."""
        attend = None
        if self.recorder is None and self.function is None and score_bias is None:
            attend = self._while_training(q, k, mask) if self.training else self._in_a_search(q, mask)
        if attend is None:
            return super().attend_in_heads(q, k, v, mask, score_bias)
        heads = attend(q, self.for_each_query(k), self.for_each_query(v))
        return self.output_projection(self.merge_heads(heads))

    def _while_training(self, q: Tensor, k: Tensor, mask: Tensor | None) -> Callable[..., Tensor] | None:
        quick = self.dropout > 0 and draws_quickly(q, q[..., 0].numel() * k.shape[-2])
        return partial(_attention_with_dropout, mask=mask, p=self.dropout) if quick else None

    def _in_a_search(self, q: Tensor, mask: Tensor | None) -> Callable[..., Tensor] | None:
        search = current_search()
        additive = None if search is None else search.additive(mask, q.dtype)
        return None if additive is None else partial(F.scaled_dot_product_attention, attn_mask=additive)


def _attention_with_dropout(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float) -> Tensor:
    """`scaled_dot_product_attention` with quick dropout: on a CPU, PyTorch's kernel writes the weights down as well."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (batch, heads, q_len, k_len)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return dropout(weights, p) @ value
