"""kind: multi_head_attention
name: UvAMultihead
style: UvA-like qkv_proj, but heads interleaved (channel c belongs to head c % num_heads), own 4-d mask expansion"""
import math

import torch
import torch.nn as nn


def expand_mask(mask):
    assert mask.ndim >= 2, "Mask must be at least 2-dimensional"
    while mask.ndim < 4:
        mask = mask.unsqueeze(0)
    return mask


class UvAMultihead(nn.Module):
    """The head a channel belongs to is a matter of naming: any fixed assignment is the same function family."""

    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.kv_proj = nn.Linear(embed_dim, 2 * embed_dim)
        self.o_proj = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)
        self._reset_parameters()

    def _reset_parameters(self):
        for lin in (self.q_proj, self.kv_proj, self.o_proj):
            nn.init.xavier_uniform_(lin.weight)
            lin.bias.data.fill_(0)

    def forward(self, query, key, value, mask=None, return_attention=False):
        E = self.num_heads * self.head_dim
        W, b = self.kv_proj.weight, self.kv_proj.bias
        q = self.q_proj(query)
        k = nn.functional.linear(key, W[:E], b[:E])
        v = nn.functional.linear(value, W[E:], b[E:])
        q, k, v = [z.reshape(z.size(0), z.size(1), self.head_dim, self.num_heads).permute(0, 3, 1, 2)
                   for z in (q, k, v)]
        logits = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            logits = logits.masked_fill(expand_mask(mask) == 0, -9e15)
        attention = torch.softmax(logits, dim=-1)
        values = torch.matmul(self.dropout(attention), v)       # B, H, L, Dh
        values = values.permute(0, 2, 3, 1).reshape(values.size(0), -1, E)
        o = self.o_proj(values)
        return (o, attention) if return_attention else o
