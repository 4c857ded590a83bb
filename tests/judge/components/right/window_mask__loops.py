"""kind: window_mask
name: sliding_window_mask
style: explicit loops"""
import torch


def sliding_window_mask(n, w):
    # row by row: token i may look at tokens i - w + 1, ..., i
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(max(0, i - w + 1), i + 1):
            mask[i, j] = True
    return mask
