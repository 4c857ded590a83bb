"""kind: input_embedding
name: TokenEmbed
"""
import torch
from torch import nn


class TokenEmbed(nn.Module):
    """W_E as a bare matrix."""

    def __init__(self, d_vocab, d_model, padding_idx=None):
        super().__init__()
        self.d_vocab, self.d_model = d_vocab, d_model
        self.padding_idx = padding_idx
        self.W_E = nn.Parameter(torch.empty(d_vocab, d_model))
        nn.init.normal_(self.W_E, std=0.02)
        if padding_idx is not None:
            with torch.no_grad():
                self.W_E[padding_idx].zero_()

    def forward(self, tokens):
        out = self.W_E[tokens]
        return out * self.d_model ** 0.5
