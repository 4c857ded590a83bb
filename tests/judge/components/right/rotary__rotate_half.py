"""kind: rotary
name: apply_rope
style: halves, a function"""
import torch


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def apply_rope(x):
    d = x.size(-1)
    inv = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float) / d)
    ang = torch.outer(torch.arange(x.size(-2), dtype=torch.float), inv)
    ang = torch.cat((ang, ang), -1)
    return x * ang.cos() + rotate_half(x) * ang.sin()
