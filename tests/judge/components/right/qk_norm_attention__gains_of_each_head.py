"""kind: qk_norm_attention
name: HeadsWithGains
style: gains (heads, 1, d_head), unit vectors times a root, bare matrices"""
import torch
from torch import nn
from torch.nn.functional import normalize


class HeadsWithGains(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        each = d_model // num_heads
        self.into = nn.Parameter(torch.randn(3, num_heads, d_model, each) * d_model**-0.5)
        self.out = nn.Parameter(torch.randn(num_heads, each, d_model) * d_model**-0.5)
        self.gains = nn.Parameter(torch.ones(2, num_heads, 1, each))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q, k, v = torch.einsum("bsd,nhde->nbhse", x, self.into)
        q, k = (normalize(rows, dim=-1) * gain * q.shape[-1] ** 0.5 for rows, gain in zip((q, k), self.gains))
        scores = q @ k.mT * q.shape[-1] ** -0.5
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -1e9)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return torch.einsum("bhqk,bhke,hed->bqd", self.drop(scores.softmax(-1)), v, self.out)
