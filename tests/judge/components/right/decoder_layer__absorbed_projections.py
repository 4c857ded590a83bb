"""kind: decoder_layer
name: DecoderLayer
style: pre-norm; keys and values are never built: their projections are absorbed into the query and the output, heads are summed instead of concatenated, softmax as exp(x - logsumexp), returns (output, weights)"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class AbsorbedAttention(nn.Module):
    """Multi-head attention that never builds keys or values.

    scores = (q W_k) . context, since q . (W_k c) = (q W_k) . c (a bias on the keys is the same for each key: it cancels),
    and the heads' outputs are mapped back and summed, which is the same as concatenating them before one projection.
    """

    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        d_head = d_model // num_heads
        self.wq = nn.Parameter(torch.empty(num_heads, d_model, d_head))
        self.wk = nn.Parameter(torch.empty(num_heads, d_model, d_head))
        self.wv = nn.Parameter(torch.empty(num_heads, d_model, d_head))
        self.wo = nn.Parameter(torch.empty(num_heads, d_head, d_model))
        for w in self.parameters():
            nn.init.normal_(w, std=d_model ** -0.5)
        self.scale = d_head ** -0.5
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, context, mask=None):
        q = torch.einsum('bqm,hmd->bhqd', x * self.scale, self.wq)
        q = torch.einsum('bhqd,hmd->bhqm', q, self.wk)
        scores = torch.einsum('bhqm,bkm->bhqk', q, context)
        if mask is not None:
            scores = torch.where(mask == 0, torch.finfo(scores.dtype).min, scores)
        weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
        mixed = torch.einsum('bhqk,bkm->bhqm', self.dropout(weights), context)
        heads = torch.einsum('bhqm,hmd->bhqd', mixed, self.wv)
        return torch.einsum('bhqd,hdm->bqm', heads, self.wo), weights


class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0):
        super().__init__()
        self.self_attn = AbsorbedAttention(d_model, num_heads, dropout)
        self.cross_attn = AbsorbedAttention(d_model, num_heads, dropout)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        self.ln = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        n = self.ln[0](x)
        x = x + self.drop(self.self_attn(n, n, target_mask)[0])
        attended, weights = self.cross_attn(self.ln[1](x), memory, memory_mask)
        x = x + self.drop(attended)
        return x + self.drop(self.mlp(self.ln[2](x))), weights
