"""kind: attention
name: eager_attention_forward
style: Hugging Face eager, additive finfo.min bias, optional scaling/dropout, returns the pair"""
from typing import Optional

import torch
from torch import nn


def eager_attention_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Optional[torch.Tensor] = None,
    scaling: Optional[float] = None,
    dropout: float = 0.0,
    training: bool = False,
    **kwargs,
):
    if scaling is None:
        scaling = query.size(-1) ** -0.5
    attn_weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    if attention_mask is not None:
        bias = (1.0 - attention_mask.to(attn_weights.dtype)) * torch.finfo(attn_weights.dtype).min
        attn_weights = attn_weights + bias
    attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=attn_weights.dtype)
    attn_weights = nn.functional.dropout(attn_weights, p=dropout, training=training)
    attn_output = torch.matmul(attn_weights, value)
    return attn_output, attn_weights
