"""kind: causal_mask
name: generate_square_subsequent_mask
style: an additive float mask, 0 where allowed and -inf above the diagonal"""
import torch


def generate_square_subsequent_mask(sz):
    return torch.full((sz, sz), float("-inf")).triu(diagonal=1)
