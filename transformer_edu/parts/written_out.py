"""The paper's attention function with something done to its scores, or another way from scores to weights."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from transformer_edu.support.arguments import check_attention
from transformer_edu.support.shapes import Tensor

Change = Callable[[Tensor], Tensor]


def attention_with(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = True,
    score_bias: Tensor | None = None,
    *,
    change: Change = lambda scores: scores,
    weigh: Change = lambda scores: scores.softmax(dim=-1),
) -> tuple[Tensor, Tensor]:
    """Weigh(change(QKᵀ / √d_head) + bias, masked) V, and the weights; arguments as in `scaled_dot_product_attention`.

    The weights are always written down, needed or not.

    Args:
        change: what is done to the scores (batch, heads, q_len, k_len) before bias and mask.
        weigh: what makes weights of them; a score of -inf must get none.
    """
    check_attention(query, key, value, mask, dropout_p, score_bias)
    scores = change(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
    if score_bias is not None:
        scores = scores + score_bias
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = weigh(scores)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # for a query with nowhere to look
    return F.dropout(weights, dropout_p) @ value, weights
