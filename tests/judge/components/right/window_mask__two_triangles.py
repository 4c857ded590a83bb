"""kind: window_mask
name: local_causal_mask
style: a triangle less a triangle"""
import torch


def local_causal_mask(n, w):
    ones = torch.ones(n, n)
    return (ones.tril() - ones.tril(-w)).bool()
