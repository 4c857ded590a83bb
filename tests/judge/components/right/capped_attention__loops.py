"""kind: capped_attention
name: capped
style: homework with loops"""
import torch


def capped(q, k, v, cap, mask=None):
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            s = q[b, h] @ k[b, h].T / q.shape[-1] ** 0.5
            s = cap * torch.tanh(s / cap)
            if mask is not None:
                own = mask.expand(q.shape[0], q.shape[1], *s.shape)[b, h]
                s = torch.where(own, s, torch.full_like(s, float("-inf")))
            w = torch.softmax(s, dim=-1)
            out[b, h] = torch.nan_to_num(w) @ v[b, h]
    return out
