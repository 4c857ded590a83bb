"""kind: decoder_layer
name: DecoderBlock"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiheadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0, "Embedding dimension must be 0 modulo number of heads."
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.o_proj = nn.Linear(embed_dim, embed_dim)
        self._reset_parameters()

    def _reset_parameters(self):
        for proj in (self.q_proj, self.k_proj, self.v_proj, self.o_proj):
            nn.init.xavier_uniform_(proj.weight)
            proj.bias.data.fill_(0)

    def forward(self, x, context, mask=None):
        q = self.q_proj(x).unflatten(-1, (self.num_heads, self.head_dim))
        k = self.k_proj(context).unflatten(-1, (self.num_heads, self.head_dim))
        v = self.v_proj(context).unflatten(-1, (self.num_heads, self.head_dim))
        attn_logits = torch.einsum('bqhd,bkhd->bhqk', q, k) / math.sqrt(self.head_dim)
        if mask is not None:
            attn_logits = attn_logits.masked_fill(mask == 0, torch.finfo(attn_logits.dtype).min)
        attention = F.softmax(attn_logits, dim=-1)
        values = torch.einsum('bhqk,bkhd->bqhd', attention, v)
        return self.o_proj(values.flatten(-2))


class DecoderBlock(nn.Module):
    def __init__(self, input_dim, num_heads, dim_feedforward, dropout=0.0):
        """
        Inputs:
            input_dim - Dimensionality of the input
            num_heads - Number of heads to use in the attention block
            dim_feedforward - Dimensionality of the hidden layer in the MLP
            dropout - Dropout probability
        """
        super().__init__()
        self.dropout = dropout
        self.self_attn = MultiheadAttention(input_dim, num_heads)
        self.cross_attn = MultiheadAttention(input_dim, num_heads)
        self.linear_net = nn.Sequential(
            nn.Linear(input_dim, dim_feedforward),
            nn.ReLU(inplace=True),
            nn.Linear(dim_feedforward, input_dim),
        )
        self.norm1 = nn.LayerNorm(input_dim)
        self.norm2 = nn.LayerNorm(input_dim)
        self.norm3 = nn.LayerNorm(input_dim)

    def _drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        # Self-attention part
        x = self.norm1(x + self._drop(self.self_attn(x, x, mask=target_mask)))
        # Cross-attention part
        x = self.norm2(x + self._drop(self.cross_attn(x, memory, mask=memory_mask)))
        # MLP part
        x = self.norm3(x + self._drop(self.linear_net(x)))
        return x
