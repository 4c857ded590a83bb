"""kind: positional_encoding
name: PositionalEncoding
style: made on the fly in complex128: sine and cosine are the imaginary and the real part of exp(i * angle), cast at the end; no table at all"""
import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, num_hiddens, max_len=5000, dropout=0.0):
        super().__init__()
        self.num_hiddens = num_hiddens
        self.dropout = nn.Dropout(dropout)

    def forward(self, X):
        n, d = X.shape[1], self.num_hiddens
        pos = torch.arange(n, dtype=torch.float64, device=X.device)
        rate = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64, device=X.device) / d)
        angle = pos[:, None] * rate[None, :]
        turn = torch.polar(torch.ones_like(angle), angle)
        P = torch.view_as_real(turn).flip(-1).reshape(n, -1)  # (cos, sin) -> (sin, cos)
        return self.dropout(X + P.to(X.dtype))
