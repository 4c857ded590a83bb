"""kind: decoder_only_block
name: PreNormBlock
style: ported from Keras, a mask of keys"""
import torch
from torch import nn


class PreNormBlock(nn.Module):
    """Ported from a keras layer: `mask` is the (batch, seq) mask that Embedding(mask_zero=True) hands down."""

    def __init__(self, embed_dim, num_heads, dense_dim, rate=0.0):
        super().__init__()
        self.input_norm = nn.LayerNorm(embed_dim, eps=1e-3)
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, dropout=rate, batch_first=True)
        self.ffn_norm = nn.LayerNorm(embed_dim, eps=1e-3)
        self.ffn_dense = nn.Sequential(nn.Linear(embed_dim, dense_dim), nn.GELU(approximate="tanh"), nn.Linear(dense_dim, embed_dim))
        self.drop_a = nn.Dropout(rate)
        self.drop_b = nn.Dropout(rate)

    def call(self, inputs, mask=None):
        t = inputs.size(1)
        future = torch.ones(t, t, dtype=torch.bool, device=inputs.device).triu(diagonal=1)
        ignore = None
        if mask is not None:
            if mask.dim() == 4:
                mask = mask[:, 0, 0]
            ignore = ~mask.bool()
        z = self.input_norm(inputs)
        z, _ = self.mha(z, z, z, attn_mask=future, key_padding_mask=ignore, need_weights=True)
        y = inputs + self.drop_a(z)
        return y + self.drop_b(self.ffn_dense(self.ffn_norm(y)))

    forward = call
