"""kind: encoder_layer
name: EncoderBlock
style: wrapper around nn.TransformerEncoderLayer, mask inverted and spread over heads"""
import torch
from torch import nn


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm="post"):
        super().__init__()
        self.num_heads = num_heads
        self.layer = nn.TransformerEncoderLayer(
            d_model, num_heads, dim_feedforward=d_ff, dropout=dropout,
            activation="relu", batch_first=True, norm_first=(norm == "pre"),
        )

    def forward(self, x, mask=None):
        if mask is None:
            return self.layer(x)
        B, L, _ = x.shape
        full = mask.expand(B, self.num_heads, L, L).reshape(B * self.num_heads, L, L)
        return self.layer(x, src_mask=full.logical_not())
