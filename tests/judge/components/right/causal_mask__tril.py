"""kind: causal_mask
name: causal_mask
style: one-liner, tril of ones as bool (n, n)"""
import torch


def causal_mask(size):
    return torch.ones(size, size, dtype=torch.bool).tril()
