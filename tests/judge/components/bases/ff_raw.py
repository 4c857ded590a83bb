"""kind: feed_forward
name: FFN
"""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class FFN(nn.Module):
    def __init__(self, d_model, d_mlp, dropout=0.0):
        super().__init__()
        self.W_in = nn.Parameter(torch.randn(d_model, d_mlp) / math.sqrt(d_model))
        self.b_in = nn.Parameter(torch.randn(d_mlp) * 0.1)
        self.W_out = nn.Parameter(torch.randn(d_mlp, d_model) / math.sqrt(d_mlp))
        self.b_out = nn.Parameter(torch.randn(d_model) * 0.1)
        self.p = dropout

    def forward(self, x):
        pre = torch.einsum("btd,dm->btm", x, self.W_in) + self.b_in
        post = pre.clamp(min=0)
        post = F.dropout(post, self.p, self.training)
        return torch.einsum("btm,md->btd", post, self.W_out) + self.b_out
