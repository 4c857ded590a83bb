"""kind: decoder_layer
name: DecoderBlock
"""
import torch
from torch import nn
import torch.nn.functional as F


class DecoderBlock(nn.Module):
    def __init__(self, dim, n_heads, hidden, dropout=0.0):
        super().__init__()
        self.n_heads, self.p = n_heads, dropout
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj1 = nn.Linear(dim, dim)
        self.to_q = nn.Linear(dim, dim)
        self.to_kv = nn.Linear(dim, 2 * dim)
        self.proj2 = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.n1, self.n2, self.n3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)

    def heads(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def drop(self, t):
        return F.dropout(t, self.p, training=self.training)

    def core(self, q, k, v, mask):
        p = self.p if self.training else 0.0
        o = F.scaled_dot_product_attention(
            self.heads(q), self.heads(k), self.heads(v), attn_mask=mask, dropout_p=p
        )
        return o.transpose(1, 2).flatten(-2)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        h = self.proj1(self.core(q, k, v, target_mask))
        x = self.n1(x + self.drop(h))
        k, v = self.to_kv(memory).chunk(2, dim=-1)
        h = self.proj2(self.core(self.to_q(x), k, v, memory_mask))
        x = self.n2(x + self.drop(h))
        h = self.down(self.drop(F.relu(self.up(x))))
        return self.n3(x + self.drop(h))
