"""kind: causal_mask
name: subsequent_mask
"""
import torch


def subsequent_mask(size):
    "Mask out subsequent positions."
    upper = torch.triu(torch.ones(size, size, dtype=torch.uint8), diagonal=1)
    return upper == 0
