"""kind: input_embedding
name: ScaledEmbedding
style: fairseq-like, subclass of nn.Embedding with custom init, embed_scale"""
import math

import torch
from torch import nn


class ScaledEmbedding(nn.Embedding):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, no_scale_embedding=False):
        super().__init__(num_embeddings, embedding_dim, padding_idx=padding_idx)
        nn.init.normal_(self.weight, mean=0, std=embedding_dim ** -0.5)
        if padding_idx is not None:
            nn.init.constant_(self.weight[padding_idx], 0)
        self.embed_scale = 1.0 if no_scale_embedding else math.sqrt(embedding_dim)

    def forward(self, tokens):
        return self.embed_scale * super().forward(tokens)
