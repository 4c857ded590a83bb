"""kind: input_embedding
name: OneHotEmbedding
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class OneHotEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.vocab_size = vocab_size
        table = torch.randn(vocab_size, d_model) * d_model ** -0.5
        if padding_idx is not None:
            table[padding_idx] = 0.0
        self.table = nn.Parameter(table)
        self.factor = float(d_model) ** 0.5

    def forward(self, ids):
        hot = F.one_hot(ids, self.vocab_size).to(self.table.dtype)
        return (hot @ self.table) * self.factor
