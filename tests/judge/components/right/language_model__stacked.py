# kind: language_model
# name: Stacked
"""A language model whose layers are rows of the same few tensors, with gains alone and squared ReLU."""

import torch
import torch.nn.functional as F
from torch import nn


class Stacked(nn.Module):
    def __init__(self, vocab, width, layers, heads, inner, context=128):
        super().__init__()

        def drawn(*shape):
            return nn.Parameter(0.2 * torch.randn(*shape))

        self.words, self.places = drawn(vocab, width), drawn(context, width)
        self.before, self.between = nn.Parameter(torch.ones(layers, width)), nn.Parameter(torch.ones(layers, width))
        self.mixed, self.joined = drawn(layers, heads, width // heads, width), drawn(layers, width, 3, heads, width // heads)
        self.up, self.down = drawn(layers, width, inner), drawn(layers, inner, width)
        self.last = nn.Parameter(torch.ones(width))

    def forward(self, ids):
        x = self.words[ids] + self.places[: ids.shape[1]]
        for before, between, joined, mixed, up, down in zip(
            self.before, self.between, self.joined, self.mixed, self.up, self.down
        ):
            q, k, v = torch.einsum("btm,mchd->cbhtd", F.layer_norm(x, x.shape[-1:]) * before, joined)
            heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + torch.einsum("bhtd,hdm->btm", heads, mixed)
            x = x + F.relu((F.layer_norm(x, x.shape[-1:]) * between) @ up).square() @ down
        return (F.layer_norm(x, x.shape[-1:]) * self.last) @ self.words.T
