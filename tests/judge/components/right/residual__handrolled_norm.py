"""kind: residual
name: SkipNorm
style: norm written inside the class, own dropout mask, camelCase"""
import torch
from torch import nn


class SkipNorm(nn.Module):
    def __init__(self, dModel, dropProb=0.0):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dModel))
        self.offset = nn.Parameter(torch.zeros(dModel))
        self.dropProb = dropProb

    def applyDropout(self, t):
        if not self.training or self.dropProb == 0:
            return t
        keep = 1 - self.dropProb
        return t * torch.bernoulli(torch.full_like(t, keep)) / keep

    def forward(self, x, subLayer):
        summed = x + self.applyDropout(subLayer(x))
        mean = summed.mean(-1, keepdim=True)
        variance = summed.var(-1, keepdim=True, correction=0)
        normed = (summed - mean) / torch.sqrt(variance + 1e-5)
        return normed * self.gain + self.offset
