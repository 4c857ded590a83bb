"""kind: positional_encoding
name: PositionEncoder
"""
import math
import torch
import torch.nn as nn


class PositionEncoder(nn.Module):
    def __init__(self, d_model, max_len=5000, dropout=0.0):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        pos = torch.arange(max_len, dtype=torch.float)
        for i in range(0, d_model, 2):
            freq = 1.0 / (10000 ** (i / d_model))
            pe[:, i] = torch.sin(pos * freq)
            if i + 1 < d_model:
                pe[:, i + 1] = torch.cos(pos * freq)
        self.register_buffer("pe", pe, persistent=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        length = x.size(1)
        x = x + self.pe[:length, :]
        return self.drop(x)
