"""PyTorch's fused attention, with the book's promise for queries that may attend to nothing."""

import torch
import torch.nn.functional as F
from torch import Tensor


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float = 0.0,
    score_bias: Tensor | None = None,
) -> Tensor:
    """`scaled_dot_product_attention` by a kernel that never writes the weights down.

    Shapes as there: query, key and value (..., len, d_head); mask and score_bias broadcast to (..., q_len, k_len).
    """
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=_wide(score_bias), dropout_p=dropout_p)
    mask = torch.atleast_2d(mask)  # the kernel wants its (q_len, k_len)
    nowhere = ~mask.any(dim=-1, keepdim=True)  # queries that may attend to nothing: kernels differ, so we decide
    allowed = mask | nowhere
    if score_bias is not None:
        allowed = score_bias.masked_fill(~allowed, -torch.inf)
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=_wide(allowed), dropout_p=dropout_p)
    return output.masked_fill(nowhere, 0.0)


def _wide(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else torch.atleast_2d(bias)
