"""kind: input_embedding
name: OneHotEmbedding
style: course homework, one-hot times a bias-free Linear"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class OneHotEmbedding(nn.Module):
    """An embedding is just a linear layer applied to one-hot vectors!"""

    def __init__(self, vocab_size, d_model, padding_idx=None):
        super().__init__()
        self.V = vocab_size
        self.D = d_model
        self.linear = nn.Linear(vocab_size, d_model, bias=False)

    def forward(self, ids):
        B, T = ids.shape
        onehot = F.one_hot(ids.long(), num_classes=self.V)          # (B, T, V)
        onehot = onehot.to(self.linear.weight.dtype)
        out = self.linear(onehot)                                   # (B, T, D)
        assert out.shape == (B, T, self.D)
        return out * (self.D ** 0.5)
