"""kind: alibi
name: key_biases
style: one row of keys for all queries"""
import torch


def key_biases(n_heads, length):
    slope = torch.logspace(-8 / n_heads, -8, n_heads, base=2)
    return slope[:, None, None] * torch.arange(length)[None, None, :]
