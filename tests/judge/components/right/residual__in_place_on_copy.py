"""kind: residual
name: SublayerConnection
style: the sum is made in place, but on the fresh tensor of the branch (a clone), never on x; the sublayer may return (output, weights)"""
import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout=0.0):
        super(SublayerConnection, self).__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout, inplace=True)

    def forward(self, x, sublayer):
        out = sublayer(x)
        if isinstance(out, tuple):
            out = out[0]
        # clone: the in-place dropout and sum must not touch x, nor anything the sublayer keeps
        out = self.dropout(out.clone())
        out += x
        return self.norm(out)
