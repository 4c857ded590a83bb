"""kind: layer_norm
name: LayerNorm
"""
import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    "Construct a layernorm module."

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(d_model))
        self.b_2 = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2
