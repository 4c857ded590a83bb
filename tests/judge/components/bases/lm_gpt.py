"""kind: language_model
name: Writer
style: no biases, tied"""
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, dropout=0.0, bias=True):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.into, self.out = nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)

    def forward(self, x):
        q, k, v = self.into(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = F.dropout(scores.masked_fill(later, -torch.inf).softmax(-1), self.dropout, self.training)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, d_ff, dropout=0.0, bias=True):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width, bias=bias) for _ in range(2))
        self.attention = Attention(width, heads, dropout, bias)
        self.think = nn.Sequential(nn.Linear(width, d_ff, bias), nn.GELU(), nn.Linear(d_ff, width, bias))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attention(self.norms[0](x)))
        return x + self.drop(self.think(self.norms[1](x)))


class Writer(nn.Module):
    def __init__(self, vocab_size, width, heads, layers, d_ff, max_len, dropout=0.0):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab_size, width), nn.Embedding(max_len, width)
        self.blocks = nn.ModuleList(Block(width, heads, d_ff, dropout) for _ in range(layers))
        self.last, self.drop = nn.LayerNorm(width), nn.Dropout(dropout)

    def forward(self, ids, targets=None):
        x = self.drop(self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.blocks:
            x = block(x)
        logits = self.last(x) @ self.words.weight.T
        if targets is None:
            return logits[:, -1:], None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
