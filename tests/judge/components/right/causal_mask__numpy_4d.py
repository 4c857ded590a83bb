"""kind: causal_mask
name: get_subsequent_mask
style: numpy, k=1 triangle, shape (1, 1, n, n)"""
import numpy as np
import torch


def get_subsequent_mask(size):
    shape = (1, 1, size, size)
    upper = np.triu(np.ones(shape), k=1).astype('uint8')
    return torch.from_numpy(upper) == 0
