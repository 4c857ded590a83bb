"""kind: padding_mask
name: build_mask
style: beginner, fills a mask tensor in a double loop"""
import torch


def build_mask(ids, pad_id):
    batch_size = ids.shape[0]
    seq_len = ids.shape[1]
    mask = torch.zeros(batch_size, 1, 1, seq_len)
    for b in range(batch_size):
        for i in range(seq_len):
            if ids[b][i].item() != pad_id:
                mask[b, 0, 0, i] = 1
    return mask.bool().to(ids.device)
