"""kind: input_embedding
name: OneHotEmbedding
style: no nn.Embedding: a one-hot matrix times a bias-free nn.Linear, the factor written as exp(log(d)/2)"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class OneHotEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.vocab_size = vocab_size
        self.to_vector = nn.Linear(vocab_size, d_model, bias=False)
        self.factor = math.exp(0.5 * math.log(d_model))

    def forward(self, token_ids):
        one_hot = F.one_hot(token_ids, self.vocab_size).to(self.to_vector.weight.dtype)
        return self.to_vector(one_hot) * self.factor
