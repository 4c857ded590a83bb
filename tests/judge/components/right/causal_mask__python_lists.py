"""kind: causal_mask
name: look_ahead_mask
style: nested list comprehension, optional device argument"""
import torch


def look_ahead_mask(size, device=None):
    rows = [[j <= i for j in range(size)] for i in range(size)]
    return torch.tensor(rows, dtype=torch.bool, device=device).view(size, size)
