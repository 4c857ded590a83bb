"""kind: capped_attention
name: eager_attention
style: Gemma"""
import torch
from torch import nn


def eager_attention(query, key, value, softcap, attention_mask=None):
    scaling = query.shape[-1] ** -0.5
    attn_weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    if softcap is not None:
        attn_weights = attn_weights / softcap
        attn_weights = torch.tanh(attn_weights)
        attn_weights = attn_weights * softcap
    if attention_mask is not None:  # additive
        attn_weights = attn_weights + attention_mask
    attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(attn_weights, value), attn_weights
