"""kind: multi_head_attention
name: CausalFreeAttention
"""
import torch
import torch.nn as nn
from torch.nn import functional as F


class CausalFreeAttention(nn.Module):
    def __init__(self, n_embd, n_head, dropout=0.0):
        super().__init__()
        self.n_head, self.n_embd, self.dropout = n_head, n_embd, dropout
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = self.c_attn.weight.split(self.n_embd)
        bq, bk, bv = self.c_attn.bias.split(self.n_embd)
        q, k, v = F.linear(query, wq, bq), F.linear(key, wk, bk), F.linear(value, wv, bv)
        B, T, C = q.shape
        S = k.shape[1]
        hs = C // self.n_head
        q = q.view(B, T, self.n_head, hs).transpose(1, 2)
        k = k.view(B, S, self.n_head, hs).transpose(1, 2)
        v = v.view(B, S, self.n_head, hs).transpose(1, 2)
        p = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)
