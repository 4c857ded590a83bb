"""kind: decoder_layer
name: DecoderLayer
style: Annotated Transformer structure, three sublayers, post-norm, x/m lambdas"""
import math
from copy import deepcopy

import torch
import torch.nn as nn


class MHA(nn.Module):
    def __init__(self, h, d_model, dropout):
        super(MHA, self).__init__()
        self.h, self.d_k = h, d_model // h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        n = q.size(0)
        q, k, v = [l(t).view(n, -1, self.h, self.d_k).transpose(1, 2) for l, t in zip(self.linears, (q, k, v))]
        s = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        return self.linears[-1]((self.dropout(s.softmax(-1)) @ v).transpose(1, 2).reshape(n, -1, self.h * self.d_k))


class Sub(nn.Module):
    def __init__(self, size, dropout):
        super(Sub, self).__init__()
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class DecoderLayer(nn.Module):
    "Decoder is made of self-attn, src-attn, and feed forward (defined below)"

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super(DecoderLayer, self).__init__()
        self.size = d_model
        self.self_attn = MHA(num_heads, d_model, dropout)
        self.src_attn = MHA(num_heads, d_model, dropout)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        sub = Sub(d_model, dropout)
        self.sublayer = nn.ModuleList(deepcopy(sub) for _ in range(3))

    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        "Follow Figure 1 (right) for connections."
        m = memory
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self.sublayer[1](x, lambda x: self.src_attn(x, m, m, src_mask))
        return self.sublayer[2](x, self.feed_forward)
