"""kind: transformer
name: EncoderDecoder
style: norms as in the Annotated Transformer, sinusoids as in tensor2tensor (sines beside cosines), pre-norm"""

import math

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(features)), nn.Parameter(torch.zeros(features)), eps

    def forward(self, x):
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.b_2


class Attention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.h = h
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask):
        query, key, value = (
            lin(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value), strict=False)
        )
        scores = (query @ key.mT / math.sqrt(query.size(-1))).masked_fill(mask == 0, -1e9)
        return self.linears[-1]((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, d_model, h, d_ff, reads_memory):
        super().__init__()
        self.self_attn, self.src_attn = Attention(h, d_model), Attention(h, d_model) if reads_memory else None
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(2 + reads_memory))

    def forward(self, x, mask, memory=None, memory_mask=None):
        h = self.norms[0](x)
        x = x + self.self_attn(h, h, h, mask)
        if memory is not None:
            x = x + self.src_attn(self.norms[1](x), memory, memory, memory_mask)
        return x + self.feed_forward(self.norms[-1](x))


class EncoderDecoder(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, N, d_model, d_ff, h, max_len=512, pad=0):
        super().__init__()
        self.pad, self.factor = pad, math.sqrt(d_model)
        self.src_embed, self.tgt_embed = nn.Embedding(src_vocab, d_model), nn.Embedding(tgt_vocab, d_model)
        self.encoder = nn.ModuleList(Layer(d_model, h, d_ff, False) for _ in range(N))
        self.decoder = nn.ModuleList(Layer(d_model, h, d_ff, True) for _ in range(N))
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(2))
        self.generator = nn.Linear(d_model, tgt_vocab)
        rates = torch.exp(-torch.arange(d_model // 2) * math.log(10_000) / (d_model // 2 - 1))
        angles = torch.arange(max_len)[:, None] * rates
        self.register_buffer("pe", torch.cat([angles.sin(), angles.cos()], dim=1))

    def forward(self, src, tgt):
        real = (src != self.pad)[:, None, None]
        seen = (tgt != self.pad)[:, None, None] & torch.ones(2 * (tgt.size(1),), device=tgt.device).tril().bool()
        memory = self.src_embed(src) * self.factor + self.pe[: src.size(1)]
        for layer in self.encoder:
            memory = layer(memory, real)
        memory, x = self.norms[0](memory), self.tgt_embed(tgt) * self.factor + self.pe[: tgt.size(1)]
        for layer in self.decoder:
            x = layer(x, seen, memory, real)
        return self.generator(self.norms[1](x))
