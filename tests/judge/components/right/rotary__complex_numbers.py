"""kind: rotary
name: rope
style: complex numbers, (batch, len, heads, d_head)"""
import torch


def rope(x):
    d = x.shape[-1]
    speed = torch.exp(-torch.arange(0, d, 2) / d * torch.tensor(10000.0).log())
    phase = torch.polar(torch.ones(1), torch.arange(x.shape[1])[:, None] * speed)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2).contiguous())
    return torch.view_as_real(pairs * phase[:, None]).reshape(x.shape)
