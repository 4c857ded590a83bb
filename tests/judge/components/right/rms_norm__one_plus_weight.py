"""kind: rms_norm
name: RMSNorm
style: the gain is 1 + weight with weight starting at zero; the multiplication is done in float32 before the cast back"""
import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x.to(torch.promote_types(x.dtype, torch.float32))
        h = h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + self.eps)
        # (x * w).to(dtype), not x.to(dtype) * w
        h = h * (1.0 + self.weight.to(h.dtype))
        return h.to(x.dtype)
