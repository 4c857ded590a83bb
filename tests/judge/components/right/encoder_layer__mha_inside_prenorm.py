"""kind: encoder_layer
name: EncoderLayer
style: pre-norm, nn.MultiheadAttention inside in its (seq, batch) layout with its inverted mask, returns (output, weights per head)"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderLayer(nn.Module):
    """Built on nn.MultiheadAttention.  The mask is True where a query may attend."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.mha = nn.MultiheadAttention(d_model, num_heads, dropout=dropout)  # (seq, batch, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleDict({"attn": nn.LayerNorm(d_model), "ffn": nn.LayerNorm(d_model)})
        self.drop = nn.Dropout(dropout)

    def _block(self, mask, bsz, seqlen):
        # nn.MultiheadAttention wants True = NOT allowed, and (batch * heads, q_len, k_len)
        if mask is None:
            return None
        allowed = mask.bool().expand(bsz, self.num_heads, seqlen, seqlen)
        # a query without any key looks at all of them, rather than giving NaN
        allowed = allowed | ~allowed.any(dim=-1, keepdim=True)
        return ~allowed.reshape(bsz * self.num_heads, seqlen, seqlen)

    def forward(self, x, mask=None):
        bsz, seqlen, _ = x.shape
        y = x.transpose(0, 1)
        n = self.norms["attn"](y)
        attended, weights = self.mha(n, n, n, attn_mask=self._block(mask, bsz, seqlen), average_attn_weights=False)
        y = y + self.drop(attended)
        y = y + self.drop(self.ffn(self.norms["ffn"](y)))
        return y.transpose(0, 1), weights
