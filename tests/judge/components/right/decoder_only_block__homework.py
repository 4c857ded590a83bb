"""kind: decoder_only_block
name: GptLayer
style: homework around nn.MultiheadAttention, causal by itself"""
import torch
import torch.nn as nn


class GptLayer(nn.Module):
    """One decoder block. Input and output: (batch, seq, d_model)."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, batch_first=True)
        self.norm_attention = nn.LayerNorm(d_model)
        self.linear_up = nn.Linear(d_model, d_ff)
        self.linear_down = nn.Linear(d_ff, d_model)
        self.norm_mlp = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        # True means: this position must not be attended
        n = x.size(1)
        future = torch.triu(torch.ones(n, n, dtype=torch.bool, device=x.device), diagonal=1)
        h = self.norm_attention(x)
        attended, _ = self.attention(h, h, h, attn_mask=future)
        x = x + self.dropout(attended)
        h = self.linear_down(torch.relu(self.linear_up(self.norm_mlp(x))))
        return x + self.dropout(h)
