"""kind: decoder_layer
name: TransformerDecoderBlock
"""
import torch
import torch.nn as nn


class AddNorm(nn.Module):
    def __init__(self, d, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(d)

    def forward(self, X, Y):
        return self.ln(self.dropout(Y) + X)


class TransformerDecoderBlock(nn.Module):
    def __init__(self, num_hiddens, num_heads, ffn_hiddens, dropout=0.0):
        super().__init__()
        self.h = num_heads
        self.attention1 = nn.MultiheadAttention(num_hiddens, num_heads, dropout, batch_first=True)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.attention2 = nn.MultiheadAttention(num_hiddens, num_heads, dropout, batch_first=True)
        self.addnorm2 = AddNorm(num_hiddens, dropout)
        self.ffn = nn.Sequential(
            nn.Linear(num_hiddens, ffn_hiddens), nn.ReLU(), nn.Linear(ffn_hiddens, num_hiddens)
        )
        self.addnorm3 = AddNorm(num_hiddens, dropout)

    def to_blocked(self, mask, q, k):
        if mask is None:
            return None
        full = mask.expand(q.size(0), self.h, q.size(1), k.size(1))
        return full.logical_not().reshape(-1, q.size(1), k.size(1))

    def forward(self, X, enc_outputs, target_mask=None, memory_mask=None):
        blocked = self.to_blocked(target_mask, X, X)
        X2, _ = self.attention1(X, X, X, attn_mask=blocked, need_weights=False)
        Y = self.addnorm1(X, X2)
        blocked = self.to_blocked(memory_mask, Y, enc_outputs)
        Y2, _ = self.attention2(Y, enc_outputs, enc_outputs, attn_mask=blocked, need_weights=False)
        Z = self.addnorm2(Y, Y2)
        return self.addnorm3(Z, self.ffn(Z))
