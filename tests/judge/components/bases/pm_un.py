"""kind: padding_mask
name: make_src_mask
"""
import torch


def make_src_mask(ids, pad_id):
    return (ids != pad_id).unsqueeze(1).unsqueeze(2)
