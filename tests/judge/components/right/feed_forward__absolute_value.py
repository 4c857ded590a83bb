"""kind: feed_forward
name: FeedForward
style: max(0, h) as (h + |h|) / 2 with the half folded into the second product, raw parameters with W of shape (in, out), hidden units in chunks"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, a slice of the hidden units at a time (for memory)."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0, chunk: int = 16):
        super().__init__()
        self.W1 = nn.Parameter(torch.randn(d_model, d_ff) / math.sqrt(d_model))
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.W2 = nn.Parameter(torch.randn(d_ff, d_model) / math.sqrt(d_ff))
        self.b2 = nn.Parameter(torch.zeros(d_model))
        self.p = dropout
        self.chunk = chunk

    def forward(self, x):
        total = self.b2
        for start in range(0, self.W1.size(1), self.chunk):
            part = slice(start, start + self.chunk)
            h = x @ self.W1[:, part] + self.b1[part]
            h = F.dropout(h + h.abs(), self.p, training=self.training)
            total = total + 0.5 * (h @ self.W2[part])
        return total
