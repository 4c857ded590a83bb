"""kind: multi_head_attention
name: MultiHeadAttention
style: D2L second edition with nn.LazyLinear, returns output only"""
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Multi-head attention."""
    def __init__(self, num_hiddens, num_heads, dropout=0.0, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.W_q = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_k = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_v = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_o = nn.LazyLinear(num_hiddens, bias=bias)

    def split(self, X):
        return X.reshape(*X.shape[:2], self.num_heads, -1).permute(0, 2, 1, 3)

    def forward(self, queries, keys, values, mask=None):
        Q, K, V = self.split(self.W_q(queries)), self.split(self.W_k(keys)), self.split(self.W_v(values))
        S = Q @ K.permute(0, 1, 3, 2) / Q.shape[-1] ** 0.5
        if mask is not None:
            S = S.masked_fill(~mask, -1e9)
        O = self.dropout(S.softmax(-1)) @ V
        return self.W_o(O.permute(0, 2, 1, 3).flatten(2))
