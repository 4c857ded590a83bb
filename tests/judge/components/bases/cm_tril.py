"""kind: causal_mask
name: causal_mask
"""
import torch


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()
