"""kind: padding_mask
name: padding_mask
"""
import torch


def padding_mask(ids, pad_id):
    keep = ids.ne(pad_id)
    return keep[:, None, None, :]
