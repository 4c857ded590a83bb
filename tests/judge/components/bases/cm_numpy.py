"""kind: causal_mask
name: nopeak_mask
"""
import numpy as np
import torch


def nopeak_mask(size):
    m = np.triu(np.ones((size, size)), k=1).astype("uint8")
    return torch.from_numpy(m) == 0
