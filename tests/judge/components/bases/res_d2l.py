"""kind: residual
name: AddNorm
"""
import torch
from torch import nn
import torch.nn.functional as F


class AddNorm(nn.Module):
    def __init__(self, num_hiddens, dropout=0.0):
        super().__init__()
        self.p = dropout
        self.ln = nn.LayerNorm(num_hiddens)

    def forward(self, X, sublayer):
        Y = sublayer(X)
        Y = F.dropout(Y, self.p, training=self.training)
        Z = X + Y
        return self.ln(Z)
