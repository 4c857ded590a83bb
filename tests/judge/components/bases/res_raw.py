"""kind: residual
name: ResidualBlock
"""
import torch
import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.drop = nn.Dropout(dropout)

    def normalise(self, h):
        mu = h.mean(-1, keepdim=True)
        var = ((h - mu) ** 2).mean(-1, keepdim=True)
        return self.gamma * (h - mu) / (var + 1e-5).sqrt() + self.beta

    def forward(self, x, sublayer):
        out = self.drop(sublayer(x))
        out = out + x
        return self.normalise(out)
