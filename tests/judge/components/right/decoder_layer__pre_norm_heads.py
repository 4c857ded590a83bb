"""kind: decoder_layer
name: PreNormDecoderLayer
style: pre-norm, a ModuleList of single heads with raw matrices, kwargs-only internals"""
import torch
from torch import nn


class SingleHead(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.q = nn.Parameter(torch.randn(d_model, d_head) / d_model ** 0.5)
        self.k = nn.Parameter(torch.randn(d_model, d_head) / d_model ** 0.5)
        self.v = nn.Parameter(torch.randn(d_model, d_head) / d_model ** 0.5)

    def forward(self, *, target, source, mask, drop):
        q, k, v = target @ self.q, source @ self.k, source @ self.v
        scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return drop(torch.softmax(scores, dim=-1)) @ v


class Heads(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.heads = nn.ModuleList(SingleHead(d_model, d_model // num_heads) for _ in range(num_heads))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, target, source, mask):
        outs = []
        for i, head in enumerate(self.heads):
            m = None
            if mask is not None:
                m = mask.expand(target.shape[0], len(self.heads), target.shape[1], source.shape[1])[:, i]
            outs.append(head(target=target, source=source, mask=m, drop=self.drop))
        return self.mix(torch.cat(outs, -1))


class PreNormDecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm="pre"):
        super().__init__()
        if norm != "pre":
            raise NotImplementedError(norm)
        self.norm_self, self.norm_cross, self.norm_ff = (nn.LayerNorm(d_model) for _ in range(3))
        self.self_attention = Heads(d_model, num_heads, dropout)
        self.cross_attention = Heads(d_model, num_heads, dropout)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        y = self.norm_self(x)
        x = x + self.drop(self.self_attention(y, y, target_mask))
        x = x + self.drop(self.cross_attention(self.norm_cross(x), memory, memory_mask))
        x = x + self.drop(self.ff(self.norm_ff(x)))
        return x
