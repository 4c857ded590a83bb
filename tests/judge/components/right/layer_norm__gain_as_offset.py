"""kind: layer_norm
name: LayerNorm
style: the gain is stored as an offset from one (starts at zero), the statistics are computed in float32, weight may be trained in half precision"""
import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    """y = (x - mean) / std * (1 + scale) + shift, statistics in float32."""

    def __init__(self, dim: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.affine = nn.Parameter(torch.zeros(2, dim))  # row 0: scale - 1, row 1: shift

    def forward(self, x):
        kind = x.dtype
        wide = x if kind == torch.float64 else x.float()
        var, mean = torch.var_mean(wide, dim=-1, keepdim=True, correction=0)
        scale, shift = self.affine.to(wide.dtype)
        y = (wide - mean).div((var + self.eps).sqrt())
        return torch.addcmul(shift, y, scale + 1).to(kind)
