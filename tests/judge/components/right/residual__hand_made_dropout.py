"""kind: residual
name: Residual
style: dropout by hand with a Bernoulli mask (and a branch for p = 0 and p = 1), the two terms are stacked and summed"""
import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self, num_hiddens, dropout=0.0):
        super().__init__()
        assert 0 <= dropout <= 1
        self.p = dropout
        self.ln = nn.LayerNorm(num_hiddens)

    def dropout_layer(self, X):
        if not self.training or self.p == 0:
            return X
        if self.p == 1:
            return torch.zeros_like(X)
        keep = torch.rand_like(X) >= self.p
        return keep * X / (1.0 - self.p)

    def forward(self, X, sublayer):
        branch = self.dropout_layer(sublayer(X))
        halves = torch.stack((X, branch))
        # LayerNorm of the sum of both halves
        return self.ln(halves.sum(dim=0))
