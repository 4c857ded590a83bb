"""kind: decoder_layer
name: Layer
style: it hides what comes later by itself; masks are of padding alone, (batch, 1, len), 1 where there is none to read"""
import torch
from torch import nn


class Looking(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v, self.back = (nn.Linear(width, width) for _ in range(4))
        self.drop = nn.Dropout(dropout)

    def forward(self, q, kv, hidden):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.to_q(q), self.to_k(kv), self.to_v(kv))
        )
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if hidden is not None:
            scores = scores.masked_fill(hidden[:, None].bool(), -1e18)
        return self.back((self.drop(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, d_model, heads, d_ff, dropout=0.1):
        super().__init__()
        self.own, self.other = Looking(d_model, heads, dropout), Looking(d_model, heads, dropout)
        self.think = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model, eps=1e-6) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, inputs, memory_bank, src_pad_mask=None, tgt_pad_mask=None):
        length = inputs.shape[1]
        later = torch.ones(1, length, length, dtype=torch.bool, device=inputs.device).triu(1)
        hidden = later if tgt_pad_mask is None else later | tgt_pad_mask.bool()
        h = self.norms[0](inputs)
        x = inputs + self.drop(self.own(h, h, hidden))
        x = x + self.drop(self.other(self.norms[1](x), memory_bank, src_pad_mask))
        return x + self.drop(self.think(self.norms[2](x)))
