"""kind: causal_mask
name: subsequent_mask
style: int 0/1 of shape (1, 1, size, size), built as a running sum down the columns of the unit matrix"""
import numpy as np
import torch


def subsequent_mask(size):
    "Mask out subsequent positions."
    attn_shape = (1, 1, size, size)
    seen = np.cumsum(np.eye(size, dtype="int64"), axis=0).reshape(attn_shape)
    return torch.from_numpy(seen)
