"""kind: multi_head_attention
name: Attention
"""
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__()
        d_head = d_model // n_heads
        self.d_head = d_head
        self.W_Q = nn.Parameter(torch.randn(n_heads, d_model, d_head) * d_model ** -0.5)
        self.W_K = nn.Parameter(torch.randn(n_heads, d_model, d_head) * d_model ** -0.5)
        self.W_V = nn.Parameter(torch.randn(n_heads, d_model, d_head) * d_model ** -0.5)
        self.W_O = nn.Parameter(torch.randn(n_heads, d_head, d_model) * d_model ** -0.5)
        self.b_Q = nn.Parameter(torch.zeros(n_heads, d_head))
        self.b_K = nn.Parameter(torch.zeros(n_heads, d_head))
        self.b_V = nn.Parameter(torch.zeros(n_heads, d_head))
        self.b_O = nn.Parameter(torch.zeros(d_model))
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q = torch.einsum("bqm,hmd->bqhd", query, self.W_Q) + self.b_Q
        k = torch.einsum("bkm,hmd->bkhd", key, self.W_K) + self.b_K
        v = torch.einsum("bkm,hmd->bkhd", value, self.W_V) + self.b_V
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.d_head ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
        pattern = self.drop(scores.softmax(-1))
        z = torch.einsum("bhqk,bkhd->bqhd", pattern, v)
        return torch.einsum("bqhd,hdm->bqm", z, self.W_O) + self.b_O
