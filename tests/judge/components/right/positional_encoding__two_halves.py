# kind: positional_encoding
# name: TimingSignal
"""As in tensor2tensor: all sines, then all cosines, and the last timescale is the largest."""

import math

import torch
from torch import nn


def timing_signal(length, channels, min_timescale=1.0, max_timescale=1.0e4):
    position = torch.arange(length, dtype=torch.float32)
    count = channels // 2
    increment = math.log(max_timescale / min_timescale) / max(count - 1, 1)
    inverse = min_timescale * torch.exp(-increment * torch.arange(count, dtype=torch.float32))
    scaled = position[:, None] * inverse[None, :]
    return torch.cat([scaled.sin(), scaled.cos()], dim=1)


class TimingSignal(nn.Module):
    def __init__(self, d_model, max_len=5000, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("signal", timing_signal(max_len, d_model)[None])

    def forward(self, x):
        return self.dropout(x + self.signal[:, : x.shape[1]])
