"""kind: multi_head_attention
name: MultiHeadAttention
style: nn.MultiheadAttention(batch_first=True) inside, the mask is inverted and expanded for it, rows without a key are opened"""
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        self.num_heads = num_heads
        self.mha = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, bias=False, batch_first=True)

    def forward(self, query, key, value, mask=None):
        attn_mask = None
        if mask is not None:
            batch, q_len, k_len = query.size(0), query.size(1), key.size(1)
            mask = mask.bool().expand(batch, self.num_heads, q_len, k_len)
            mask = mask | ~mask.any(dim=-1, keepdim=True)
            attn_mask = ~mask.reshape(batch * self.num_heads, q_len, k_len)
        return self.mha(query, key, value, attn_mask=attn_mask, need_weights=False)[0]
