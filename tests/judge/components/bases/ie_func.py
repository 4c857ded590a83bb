"""kind: input_embedding
name: WordEmbedding
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class WordEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.pad = padding_idx
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model))
        if padding_idx is not None:
            self.weight.data[padding_idx].fill_(0)
        self.scale = d_model ** 0.5

    def forward(self, input_ids):
        vectors = F.embedding(input_ids, self.weight, padding_idx=self.pad)
        return vectors * self.scale
