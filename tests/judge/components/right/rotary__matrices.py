"""kind: rotary
name: Rotate
style: a rotation matrix for each position"""
import torch
from torch import nn


class Rotate(nn.Module):
    def __init__(self, head_dim, max_seq_len=512, base=10000.0):
        super().__init__()
        turns = torch.zeros(max_seq_len, head_dim, head_dim)
        for i in range(head_dim // 2):
            a = torch.arange(max_seq_len) * base ** (-2 * i / head_dim)
            turns[:, 2 * i, 2 * i] = turns[:, 2 * i + 1, 2 * i + 1] = a.cos()
            turns[:, 2 * i, 2 * i + 1], turns[:, 2 * i + 1, 2 * i] = -a.sin(), a.sin()
        self.register_buffer("turns", turns)

    def forward(self, x):
        return torch.einsum("nij,bhnj->bhni", self.turns[: x.shape[2]], x)
