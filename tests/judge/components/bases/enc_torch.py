"""kind: encoder_layer
name: Block
"""
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.attn = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, batch_first=True)
        self.lin1 = nn.Linear(d_model, d_ff)
        self.lin2 = nn.Linear(d_ff, d_model)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.p = dropout

    def forward(self, x, mask=None):
        blocked = None
        if mask is not None:
            B, T, _ = x.shape
            blocked = ~mask.expand(B, self.num_heads, T, T)
            blocked = blocked.reshape(B * self.num_heads, T, T)
        a, _ = self.attn(x, x, x, attn_mask=blocked)
        a = F.dropout(a, self.p, training=self.training)
        x = self.ln1(x + a)
        h = F.relu(self.lin1(x))
        h = F.dropout(h, self.p, training=self.training)
        f = F.dropout(self.lin2(h), self.p, training=self.training)
        return self.ln2(x + f)
