# kind: self_attention
# name: SelfAttention
"""A mask of two dimensions says which keys are real; one of four is taken as it is."""

import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.dense = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def heads(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def forward(self, x, mask=None):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if mask is not None:
            if mask.dim() == 2 and mask.shape == x.shape[:2]:
                mask = mask[:, None, None, :]
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        weights = self.dropout(scores.softmax(-1))
        return self.dense((weights @ v).transpose(1, 2).reshape(x.shape))
