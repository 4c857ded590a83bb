# kind: language_model
# name: MPTModel
"""A language model without positions: the further back a key stands, the lower its score."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def gen_slopes(n_heads, alibi_bias_max=8):
    _n_heads = 2 ** math.ceil(math.log2(n_heads))
    m = torch.arange(1, _n_heads + 1, dtype=torch.float32).mul(alibi_bias_max / _n_heads)
    slopes = 1.0 / torch.pow(2, m)
    if _n_heads != n_heads:
        slopes = torch.concat([slopes[1::2], slopes[::2]])[:n_heads]
    return slopes.view(1, n_heads, 1, 1)


class MPTBlock(nn.Module):
    def __init__(self, d_model, n_heads, expansion, pdrop):
        super().__init__()
        self.n_heads = n_heads
        self.norm_1 = nn.LayerNorm(d_model, bias=False)
        self.Wqkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)
        self.norm_2 = nn.LayerNorm(d_model, bias=False)
        self.up_proj = nn.Linear(d_model, expansion, bias=False)
        self.down_proj = nn.Linear(expansion, d_model, bias=False)
        self.resid_dropout = nn.Dropout(pdrop)

    def forward(self, x, attn_bias):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, self.n_heads, -1).transpose(1, 2) for t in self.Wqkv(self.norm_1(x)).chunk(3, dim=2))
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_bias)
        x = x + self.resid_dropout(self.out_proj(a.transpose(1, 2).reshape(b, s, d)))
        return x + self.resid_dropout(self.down_proj(F.gelu(self.up_proj(self.norm_2(x)))))


class MPTModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, n_layers, expansion, max_seq_len=2048, alibi_bias_max=8, pdrop=0.0):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.wte = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(MPTBlock(d_model, n_heads, expansion, pdrop) for _ in range(n_layers))
        self.norm_f = nn.LayerNorm(d_model, bias=False)
        self.emb_drop = nn.Dropout(pdrop)
        self.slopes = gen_slopes(n_heads, alibi_bias_max)

    def forward(self, input_ids):
        s = input_ids.size(1)
        distance = torch.arange(1 - s, 1).view(1, 1, 1, s)
        attn_bias = self.slopes * distance
        attn_bias = attn_bias.masked_fill(torch.ones(s, s, dtype=torch.bool).triu(1), float("-inf"))
        x = self.emb_drop(self.wte(input_ids))
        for block in self.blocks:
            x = block(x, attn_bias)
        return F.linear(self.norm_f(x), self.wte.weight)
