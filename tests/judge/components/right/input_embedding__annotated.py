"""kind: input_embedding
name: Embeddings
style: Annotated Transformer (lut * sqrt)"""
import math
import torch.nn as nn


class Embeddings(nn.Module):
    def __init__(self, vocab, d_model):
        super(Embeddings, self).__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)
