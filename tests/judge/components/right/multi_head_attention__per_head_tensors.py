"""kind: multi_head_attention
name: EinsumAttention
style: three-dimensional weights (head, d_model, d_head), all by einsum, the output summed over the heads instead of concatenated"""
import torch
from torch import nn, einsum


class EinsumAttention(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout=0.0):
        super().__init__()
        d = num_hiddens // num_heads

        def weight(*shape):
            return nn.Parameter(torch.randn(*shape) / num_hiddens**0.5)

        self.P_q = weight(num_heads, num_hiddens, d)
        self.P_k = weight(num_heads, num_hiddens, d)
        self.P_v = weight(num_heads, num_hiddens, d)
        self.P_o = weight(num_heads, d, num_hiddens)
        self.dropout = nn.Dropout(dropout)

    def forward(self, X, M, V, mask=None):
        Q = einsum("bnm,hmd->bhnd", X, self.P_q)
        K = einsum("bnm,hmd->bhnd", M, self.P_k)
        V = einsum("bnm,hmd->bhnd", V, self.P_v)
        logits = einsum("bhnd,bhkd->bhnk", Q, K) * Q.shape[-1] ** -0.5
        if mask is not None:
            logits = logits.masked_fill(torch.logical_not(mask), torch.finfo(logits.dtype).min)
        weights = self.dropout(logits.softmax(-1))
        # one einsum for "weigh the values, project every head, add the heads up"
        Y = einsum("bhnk,bhkd,hdm->bnm", weights, V, self.P_o)
        return Y, weights
