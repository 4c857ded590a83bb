"""kind: padding_mask
name: make_src_mask
style: int 0/1 computed by arithmetic: the distance to pad_id, cut at 1"""
import torch


def make_src_mask(src, pad):
    "1 for a word, 0 for a blank."
    return (src - pad).abs().clamp(max=1)[:, None, None]
