"""kind: language_model
name: Model
style: Llama in einsums, parameters in dictionaries"""
import torch
from torch import nn
from torch.nn import functional as F


def norm(x, gain):
    return gain * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def turn(x):
    half = x.shape[-1] // 2
    speed = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
    angle = torch.arange(x.shape[1], dtype=torch.float32)[:, None, None] * speed
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1).to(x.dtype)


class Model(nn.Module):
    def __init__(self, vocab, d_model, n_heads, n_layers, d_ff):
        super().__init__()
        new = lambda *shape: nn.Parameter(0.1 * torch.randn(shape))  # noqa: E731
        d_head = d_model // n_heads
        self.table, self.head = new(vocab, d_model), new(d_model, vocab)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            layer = nn.ParameterDict({name: new(d_model, n_heads, d_head) for name in ("q", "k", "v", "o")})
            layer |= {"gate": new(d_model, d_ff), "up": new(d_model, d_ff), "down": new(d_ff, d_model)}
            layer |= {"one": nn.Parameter(torch.ones(d_model)), "two": nn.Parameter(torch.ones(d_model))}
            self.layers.append(layer)
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(self, ids):
        x = self.table[ids]
        hidden = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
        for p in self.layers:
            h = norm(x, p["one"])
            q, k, v = (torch.einsum("btd,dhe->bthe", h, p[name]) for name in "qkv")
            q, k = turn(q), turn(k)
            scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / q.shape[-1] ** 0.5
            weights = scores.masked_fill(hidden, -1e30).softmax(-1)
            x = x + torch.einsum("bhqk,bkhe,dhe->bqd", weights, v, p["o"])
            h = norm(x, p["two"])
            x = x + (F.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]
        return norm(x, self.gain) @ self.head
