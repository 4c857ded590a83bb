"""kind: multi_head_attention
name: MHA
style: golfed, raw d x d matrices in one 4-slab nn.Parameter, no biases (as in the paper), x @ W convention"""
import torch, torch.nn as nn, torch.nn.functional as F

class MHA(nn.Module):
    def __init__(s, d, h, dropout=0.):
        super().__init__(); s.h, s.p = h, dropout
        s.W = nn.Parameter(torch.randn(4, d, d) / d**.5)
    def forward(s, q, k, v, mask=None):
        q, k, v = ((x @ w).unflatten(-1, (s.h, -1)).transpose(1, 2) for x, w in zip((q, k, v), s.W))
        a = q @ k.mT / q.shape[-1]**.5
        if mask is not None: a = a.masked_fill(~mask, -torch.inf)
        return (F.dropout(a.softmax(-1), s.p, s.training) @ v).transpose(1, 2).flatten(2) @ s.W[3]
