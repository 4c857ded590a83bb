"""kind: attention
name: softAttention
style: hand-made stable softmax, mask multiplied after exp and renormalised"""
import torch


def softAttention(query, key, value, mask=None):
    s = query @ key.transpose(-1, -2) / torch.sqrt(torch.tensor(query.shape[-1], dtype=query.dtype))
    if mask is None:
        mask = torch.ones_like(s, dtype=torch.bool)
    allowed = mask.to(s.dtype)
    # the peak is taken over the allowed keys only
    peak = (s * allowed - 1e30 * (1 - allowed)).amax(dim=-1, keepdim=True)
    e = torch.exp((s - peak).clamp(max=0)) * allowed
    p = e / e.sum(dim=-1, keepdim=True)
    return p @ value, p
