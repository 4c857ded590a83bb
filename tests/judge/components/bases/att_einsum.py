"""kind: attention
name: scaled_attention
"""
import torch


def scaled_attention(q, k, v, mask=None):
    logits = torch.einsum("bhqd,bhkd->bhqk", q, k)
    logits = logits * q.shape[-1] ** -0.5
    if mask is not None:
        logits = torch.where(mask, logits, torch.finfo(logits.dtype).min)
    weights = logits.softmax(dim=-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)
