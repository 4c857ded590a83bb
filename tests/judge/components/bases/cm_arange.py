"""kind: causal_mask
name: look_back
"""
import torch


def look_back(size):
    pos = torch.arange(size)
    return pos[None, :] <= pos[:, None]
