"""kind: window_mask
name: sliding
style: code golf"""
import torch

def sliding(n, w):
    i = torch.arange(n); d = i[:, None] - i
    return (d >= 0) & (d < w)
