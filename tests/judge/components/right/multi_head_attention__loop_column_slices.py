"""kind: multi_head_attention
name: MultiHeadAttention
style: big matrices, python loop over heads cutting column slices, sums the per-head output projections"""
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.Wq = nn.Linear(d_model, d_model)
        self.Wk = nn.Linear(d_model, d_model)
        self.Wv = nn.Linear(d_model, d_model)
        self.Wo = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        step = self.d_model // self.num_heads
        bigQ, bigK, bigV = self.Wq(query), self.Wk(key), self.Wv(value)
        if mask is not None:
            mask = torch.broadcast_to(mask, (query.size(0), self.num_heads, query.size(1), key.size(1)))
        total = self.Wo.bias
        weights = []
        for h in range(self.num_heads):
            cols = slice(h * step, (h + 1) * step)
            q, k, v = bigQ[..., cols], bigK[..., cols], bigV[..., cols]
            a = q @ k.transpose(1, 2) / (step ** 0.5)
            if mask is not None:
                a[~mask[:, h]] = -1e9
            a = torch.softmax(a, 2)
            weights.append(a)
            # [h1 ... hn] W_O = sum_i h_i W_O[i]
            total = total + self.drop(a) @ v @ self.Wo.weight[:, cols].T
        return total, torch.stack(weights, dim=1)
