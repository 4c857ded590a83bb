"""kind: causal_mask
name: make_mask
"""
import torch


def make_mask(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(n):
            if j <= i:
                mask[i, j] = True
    return mask
