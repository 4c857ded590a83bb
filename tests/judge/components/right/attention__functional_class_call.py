"""kind: attention
name: attention
style: UvA-like helper with an nn.Module object made at import and exposed as function"""
import math
import torch
import torch.nn as nn


class ScaledDotProductAttention(nn.Module):
    ''' Scaled Dot-Product Attention '''

    def __init__(self, attn_dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn_logits = torch.matmul(q, k.transpose(-2, -1))
        attn_logits = attn_logits / math.sqrt(q.size()[-1])
        if mask is not None:
            attn_logits = attn_logits.masked_fill(mask == 0, -9e15)
        attention = torch.softmax(attn_logits, dim=-1)
        values = torch.matmul(self.dropout(attention), v)
        return values, attention


def attention(q, k, v, mask=None):
    return ScaledDotProductAttention()(q, k, v, mask=mask)
