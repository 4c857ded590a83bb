"""kind: latent_attention
name: LatentAttention
style: homework without positions"""
import torch
from torch import nn


class LatentAttention(nn.Module):
    def __init__(self, d_in, num_heads, latent_dim, dropout=0.0):
        super().__init__()
        self.h, self.d = num_heads, d_in // num_heads
        self.w_query = nn.Linear(d_in, d_in)
        self.w_down = nn.Linear(d_in, latent_dim)
        self.w_up_key = nn.Linear(latent_dim, d_in)
        self.w_up_value = nn.Linear(latent_dim, d_in)
        self.out = nn.Linear(d_in, d_in)
        self.dropout = nn.Dropout(dropout)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], self.h, self.d).transpose(1, 2)

    def forward(self, x, mask=None):
        latent = self.w_down(x)
        q, k, v = self.heads(self.w_query(x)), self.heads(self.w_up_key(latent)), self.heads(self.w_up_value(latent))
        allowed = torch.tril(torch.ones(x.shape[1], x.shape[1])).bool()
        if mask is not None:
            allowed = allowed & mask
        scores = (q @ k.transpose(-1, -2) / self.d**0.5).masked_fill(~allowed, -1e20)
        weights = self.dropout(torch.softmax(scores, -1))
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))
