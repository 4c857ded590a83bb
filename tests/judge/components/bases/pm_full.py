"""kind: padding_mask
name: get_attn_pad_mask
"""
import torch


def get_attn_pad_mask(seq, pad_id):
    batch, length = seq.size()
    real = seq.data.eq(pad_id).logical_not()
    return real.view(batch, 1, 1, length).expand(batch, 1, length, length)
