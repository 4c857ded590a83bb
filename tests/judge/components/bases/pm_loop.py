"""kind: padding_mask
name: build_pad_mask
"""
import torch


def build_pad_mask(ids, pad_id):
    batch, length = ids.shape
    mask = torch.zeros(batch, 1, 1, length, dtype=torch.bool)
    for b in range(batch):
        for t in range(length):
            mask[b, 0, 0, t] = ids[b, t].item() != pad_id
    return mask
