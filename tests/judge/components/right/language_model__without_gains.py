"""kind: language_model
name: Small
style: no norm learns anything, queries and keys are normed, squared ReLU, capped logits (nanochat)"""
import torch
from torch import nn
from torch.nn import functional as F


def norm(x):
    return F.rms_norm(x, (x.shape[-1],))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def attend(self, x, angles):
        q, k, v = (to(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for to in (self.q, self.k, self.v))
        q, k = (norm(self.turned(part, angles)) for part in (q, k))
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    @staticmethod
    def turned(x, angles):
        a, b = x.chunk(2, -1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1)

    def forward(self, x, angles):
        x = x + self.attend(norm(x), angles)
        return x + self.down(self.up(norm(x)).relu().square())


class Small(nn.Module):
    def __init__(self, vocab_size, n_embd, n_head, n_layer):
        super().__init__()
        self.words = nn.Embedding(vocab_size, n_embd)
        self.blocks = nn.ModuleList(Block(n_embd, n_head) for _ in range(n_layer))
        self.head = nn.Linear(n_embd, vocab_size, bias=False)
        self.size = n_embd // n_head

    def forward(self, ids):
        speeds = 10000 ** (-torch.arange(0, self.size, 2, device=ids.device) / self.size)
        angles = torch.arange(ids.shape[1], device=ids.device)[:, None] * speeds
        x = norm(self.words(ids))
        for block in self.blocks:
            x = block(x, angles)
        return 15 * torch.tanh(self.head(norm(x)) / 15)
