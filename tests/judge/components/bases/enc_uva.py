"""kind: encoder_layer
name: EncoderBlock
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderBlock(nn.Module):
    def __init__(self, input_dim, num_heads, dim_feedforward, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = input_dim // num_heads
        self.qkv_proj = nn.Linear(input_dim, 3 * input_dim)
        self.o_proj = nn.Linear(input_dim, input_dim)
        self.linear_net = nn.Sequential(
            nn.Linear(input_dim, dim_feedforward),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(dim_feedforward, input_dim),
        )
        self.norm1 = nn.LayerNorm(input_dim)
        self.norm2 = nn.LayerNorm(input_dim)
        self.dropout = nn.Dropout(dropout)

    def attend(self, x, mask):
        batch, length, dim = x.size()
        qkv = self.qkv_proj(x).reshape(batch, length, 3, self.num_heads, self.head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        logits = q @ k.transpose(-2, -1) / self.head_dim ** 0.5
        if mask is not None:
            logits = logits.masked_fill(mask == False, torch.finfo(logits.dtype).min)
        probs = F.softmax(logits, dim=-1)
        values = (probs @ v).permute(0, 2, 1, 3).reshape(batch, length, dim)
        return self.o_proj(values)

    def forward(self, x, mask=None):
        x = x + self.dropout(self.attend(x, mask))
        x = self.norm1(x)
        x = x + self.dropout(self.linear_net(x))
        x = self.norm2(x)
        return x
