"""kind: rms_norm
name: RMSNorm
style: eps comes in as one more column sqrt(d * eps), so the vector norm of the longer row / sqrt(d) is sqrt(mean + eps)"""
import math

import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super(RMSNorm, self).__init__()
        self.d_model = d_model
        self.eps = eps
        self.g = nn.Parameter(torch.ones(d_model))

    def length(self, x):
        # one more column that holds sqrt(d * eps): its square adds eps to the mean
        extra = x.new_full(x.shape[:-1] + (1,), math.sqrt(self.d_model * self.eps))
        return torch.linalg.vector_norm(torch.cat([x, extra], dim=-1), dim=-1, keepdim=True)

    def forward(self, x):
        y = x.double()
        y = y / self.length(y) * math.sqrt(self.d_model)
        return (y * self.g.double()).type_as(x)
