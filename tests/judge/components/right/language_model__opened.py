# kind: language_model
# name: Bloom
"""A norm behind the embeddings, linear biases by one formula, all weights in one dictionary."""

import torch
import torch.nn.functional as F
from torch import nn


def normed(x, p, name):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}_weight"], p[f"{name}_bias"])


class Bloom(nn.Module):
    def __init__(self, vocab_size, hidden_size, n_head, n_layer):
        super().__init__()
        self.n_head, self.n_layer = n_head, n_layer
        d = hidden_size
        p = {"words": 0.02 * torch.randn(vocab_size, d)}
        norms = ["begin", "end"]
        for i in range(n_layer):
            p |= {f"{name}{i}": torch.randn(d, d) / d**0.5 for name in "qkvo"}
            p |= {f"{name}{i}_b": torch.zeros(d) for name in "qkvo"}
            p |= {f"up{i}": torch.randn(d, 4 * d) / d**0.5, f"up{i}_b": torch.zeros(4 * d)}
            p |= {f"down{i}": torch.randn(4 * d, d) / d**0.5, f"down{i}_b": torch.zeros(d)}
            norms += [f"first{i}", f"second{i}"]
        for name in norms:
            p |= {f"{name}_weight": torch.ones(d), f"{name}_bias": torch.zeros(d)}
        self.p = nn.ParameterDict(p)

    def look(self, x, i):
        p, (b, n, d) = self.p, x.shape
        q, k, v = ((x @ p[f"{name}{i}"] + p[f"{name}{i}_b"]).view(b, n, self.n_head, -1).mT for name in "qkv")
        place = torch.arange(n)
        distance = (place[:, None] - place).clamp(min=0)
        slopes = 2.0 ** (-8 / self.n_head * torch.arange(1, self.n_head + 1))
        q, k, v = (t.mT.transpose(1, 2) for t in (q, k, v))
        scores = q @ k.mT / (d // self.n_head) ** 0.5 - slopes[:, None, None] * distance
        weights = scores.masked_fill(place > place[:, None], float("-inf")).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(b, n, d) @ p[f"o{i}"] + p[f"o{i}_b"]

    def forward(self, ids):
        p = self.p
        x = normed(p["words"][ids], p, "begin")
        for i in range(self.n_layer):
            x = x + self.look(normed(x, p, f"first{i}"), i)
            x = x + F.gelu(normed(x, p, f"second{i}") @ p[f"up{i}"] + p[f"up{i}_b"]) @ p[f"down{i}"] + p[f"down{i}_b"]
        return normed(x, p, "end") @ p["words"].T
