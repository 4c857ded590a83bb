"""kind: transformer
name: TinyTransformer
style: no submodules: raw nn.Parameter stacks for all layers, functions, shared target table for input and output (tied)"""
import math

import torch
import torch.nn.functional as F
from torch import nn


def heads(x, h):
    return x.view(*x.shape[:2], h, -1).transpose(1, 2)


class TinyTransformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        c = self.config = config
        L, d, f = c.num_layers, c.d_model, c.d_ff

        def mat(*shape):
            return nn.Parameter(torch.randn(*shape) * shape[-2] ** -0.5)

        self.source_table = nn.Parameter(torch.randn(c.source_vocab_size, d) * d ** -0.5)
        self.target_table = nn.Parameter(torch.randn(c.target_vocab_size, d) * d ** -0.5)
        self.attn = mat(3, L, 4, d, d)          # encoder self / decoder self / decoder cross
        self.up, self.down = mat(2, L, d, f), mat(2, L, f, d)
        self.up_b, self.down_b = nn.Parameter(torch.zeros(2, L, f)), nn.Parameter(torch.zeros(2, L, d))
        self.gain, self.shift = nn.Parameter(torch.ones(5, L, d)), nn.Parameter(torch.zeros(5, L, d))

    def drop(self, x):
        return F.dropout(x, self.config.dropout, self.training)

    def mha(self, w, x, y, mask):
        h = self.config.num_heads
        q, k, v = heads(x @ w[0], h), heads(y @ w[1], h), heads(y @ w[2], h)
        s = (q @ k.transpose(2, 3) / math.sqrt(q.size(-1))).masked_fill(~mask, -1e9)
        return (self.drop(s.softmax(-1)) @ v).transpose(1, 2).reshape(x.shape) @ w[3]

    def ffn(self, i, l, x):
        return F.relu(x @ self.up[i, l] + self.up_b[i, l]) @ self.down[i, l] + self.down_b[i, l]

    def ln(self, i, l, x):
        return F.layer_norm(x, x.shape[-1:], self.gain[i, l], self.shift[i, l])

    def embed(self, table, ids):
        n, d = ids.size(1), self.config.d_model
        angle = torch.arange(n, device=ids.device)[:, None] * 10000.0 ** (-torch.arange(0, d, 2, device=ids.device) / d)
        pe = torch.zeros(n, d, dtype=table.dtype, device=ids.device)
        pe[:, ::2], pe[:, 1::2] = angle.sin(), angle.cos()
        return self.drop(F.embedding(ids, table) * math.sqrt(d) + pe)

    def encode(self, source):
        x, mask = self.embed(self.source_table, source), (source != self.config.pad_id)[:, None, None]
        for l in range(self.config.num_layers):
            x = self.ln(0, l, x + self.drop(self.mha(self.attn[0, l], x, x, mask)))
            x = self.ln(1, l, x + self.drop(self.ffn(0, l, x)))
        return x

    def decode(self, target, memory, source):
        n = target.size(1)
        y, seen = self.embed(self.target_table, target), (source != self.config.pad_id)[:, None, None]
        past = torch.ones(n, n, dtype=torch.bool, device=target.device).tril() & (target != self.config.pad_id)[:, None, None]
        for l in range(self.config.num_layers):
            y = self.ln(2, l, y + self.drop(self.mha(self.attn[1, l], y, y, past)))
            y = self.ln(3, l, y + self.drop(self.mha(self.attn[2, l], y, memory, seen)))
            y = self.ln(4, l, y + self.drop(self.ffn(1, l, y)))
        return y

    def project(self, y):
        return y @ self.target_table.T

    def forward(self, source, target):
        return self.project(self.decode(target, self.encode(source), source))
