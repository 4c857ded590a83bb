"""kind: attention
name: dot_attention
"""
import torch


def dot_attention(queries, keys, values, mask=None):
    queries = queries * queries.size(-1) ** -0.5
    energy = queries @ keys.transpose(2, 3)
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=energy.dtype)
        bias = bias.masked_fill(~mask, torch.finfo(energy.dtype).min / 2)
        energy = energy + bias
    alpha = energy.softmax(-1)
    if mask is not None:
        alpha = alpha.masked_fill(~mask, 0.0)
    return alpha @ values, alpha
