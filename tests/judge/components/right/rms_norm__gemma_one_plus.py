"""kind: rms_norm
name: GemmaRMSNorm
style: Gemma-like, the stored weight is gamma - 1 (starts at zero, gain is 1 + weight)"""
import torch
from torch import nn


class GemmaRMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + self.eps)
        return h * (1.0 + self.weight)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.eps}"
