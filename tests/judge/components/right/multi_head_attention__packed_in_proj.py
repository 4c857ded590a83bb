"""kind: multi_head_attention
name: FusedAttention
style: one packed (3*d_model, d_model) weight laid out head by head as [q|k|v] per head, no biases, self- and cross-attention through one path"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FusedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        self.h, self.d = num_heads, d_model // num_heads
        self.p = dropout
        self.qkv = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.proj = nn.Parameter(torch.empty(d_model, d_model))
        nn.init.normal_(self.qkv, std=d_model**-0.5)
        nn.init.normal_(self.proj, std=d_model**-0.5)

    def forward(self, query, key, value, mask=None):
        # rows of the packed weight: head 0's q, k, v, then head 1's q, k, v, ...
        w = self.qkv.view(self.h, 3, self.d, -1)
        q, k, v = (
            torch.tensordot(x, w[:, i], dims=([2], [2])).transpose(1, 2)
            for i, x in enumerate((query, key, value))
        )
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=q.dtype, device=q.device)
            mask = bias.masked_fill(mask == 0, torch.finfo(q.dtype).min)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.p * float(self.training))
        return F.linear(out.transpose(1, 2).reshape(query.shape), self.proj)
