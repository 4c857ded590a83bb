"""kind: decoder_layer
name: DecoderLayer"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        self.n_heads = n_heads
        self.dropout = dropout
        self.q_proj = nn.Linear(dim, dim)
        self.kv_proj = nn.Linear(dim, 2 * dim)
        self.out_proj = nn.Linear(dim, dim)

    def _shape(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def project_kv(self, context):
        k, v = self.kv_proj(context).chunk(2, dim=-1)
        return self._shape(k), self._shape(v)

    def forward(self, x, context, attn_mask=None):
        q = self._shape(self.q_proj(x))
        k, v = self.project_kv(context)
        out = F.scaled_dot_product_attention(
            q, k, v,
            attn_mask=attn_mask,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return self.out_proj(out.transpose(1, 2).flatten(-2))


class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads, dropout)
        self.cross_attn = Attention(d_model, num_heads, dropout)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        self.ln_1 = nn.LayerNorm(d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        self.ln_3 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        x = self.ln_1(x + self.drop(self.self_attn(x, x, target_mask)))
        x = self.ln_2(x + self.drop(self.cross_attn(x, memory, memory_mask)))
        x = self.ln_3(x + self.drop(self.mlp(x)))
        return x
