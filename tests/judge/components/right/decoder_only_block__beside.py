"""kind: decoder_only_block
name: ParallelBlock
style: both parts read x side by side, half of each head is turned (GPT-NeoX)"""
import torch
from torch import nn
from torch.nn import functional as F


def turned(x, share):
    places = torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)
    speeds = 10000 ** (-torch.arange(0, share, 2, dtype=x.dtype, device=x.device) / share)
    cos, sin = (fn(places[:, None] * speeds).repeat(1, 2) for fn in (torch.cos, torch.sin))
    front, rest = x[..., :share], x[..., share:]
    a, b = front.chunk(2, -1)
    return torch.cat([front * cos + torch.cat([-b, a], -1) * sin, rest], -1)


class ParallelBlock(nn.Module):
    def __init__(self, hidden_size, num_heads, intermediate_size, dropout=0.0):
        super().__init__()
        self.heads, self.share = num_heads, hidden_size // num_heads // 4 * 2
        self.qkv, self.dense = nn.Linear(hidden_size, 3 * hidden_size), nn.Linear(hidden_size, hidden_size)
        self.norm_of_attention, self.norm_of_mlp = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)
        self.wide, self.narrow = nn.Linear(hidden_size, intermediate_size), nn.Linear(intermediate_size, hidden_size)
        self.drop = nn.Dropout(dropout)

    def attend(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (self.heads, 3, -1)).permute(3, 0, 2, 1, 4)
        y = F.scaled_dot_product_attention(turned(q, self.share), turned(k, self.share), v, is_causal=True)
        return self.dense(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        found = self.attend(self.norm_of_attention(x))
        thought = self.narrow(F.gelu(self.wide(self.norm_of_mlp(x))))
        return x + self.drop(found) + self.drop(thought)
