"""kind: capped_attention
name: softcap_attention
style: NumPy"""
import torch
import numpy as np


def softmax(a, axis):
    a = a - a.amax(axis, keepdim=True)
    a = torch.exp(a)
    return a / a.sum(axis, keepdim=True)


def softcap_attention(query, key, value, cap, mask=None):
    """Gemma-2 attention, numpy notation (q: n,h,i,d   k, v: n,h,j,d)."""
    d = query.shape[-1]
    s = torch.einsum("nhid,nhjd->nhij", query, key) / np.sqrt(d)
    s = cap * torch.tanh(s / cap)
    if mask is not None:
        s = torch.where(mask, s, torch.tensor(-1e30, dtype=s.dtype, device=s.device))
    w = softmax(s, -1)
    return torch.einsum("nhij,nhjd->nhid", w, value), w
