"""kind: multi_head_attention
name: MultiHeadAttentionWrapper
"""
import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, d_in, d_out, dropout):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        q, k, v = self.W_query(q), self.W_key(k), self.W_value(v)
        scores = q @ k.transpose(1, 2) * k.shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        w = self.dropout(scores.softmax(-1))
        return w @ v


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        d_head = d_model // num_heads
        self.heads = nn.ModuleList([Head(d_model, d_head, dropout) for _ in range(num_heads)])
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        outs = []
        for i, head in enumerate(self.heads):
            m = mask
            if mask is not None and mask.dim() == 4:
                m = mask[:, i if mask.size(1) > 1 else 0]
            outs.append(head(query, key, value, m))
        return self.out_proj(torch.cat(outs, dim=-1))
