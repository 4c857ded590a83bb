"""kind: positional_encoding
name: SinusoidalPositions
"""
import torch
import torch.nn as nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000, dropout=0.0):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len
        self.dropout = nn.Dropout(dropout)

    def _rows(self, n, like):
        t = torch.arange(n, device=like.device, dtype=torch.float32)[:, None]
        k = torch.arange(0, self.d_model, 2, device=like.device, dtype=torch.float32)
        angle = t / torch.pow(torch.tensor(10000.0), k / self.d_model)
        rows = torch.stack((angle.sin(), angle.cos()), dim=-1)
        return rows.flatten(-2).to(like.dtype)

    def forward(self, x):
        rows = self._rows(x.shape[-2], x)
        return self.dropout(x + rows)
