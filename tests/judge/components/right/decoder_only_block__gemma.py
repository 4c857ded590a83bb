"""kind: decoder_only_block
name: DecoderLayer
style: Gemma"""
import torch
import torch.nn.functional as F
from torch import nn


class GemmaNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        out = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + self.eps)
        return (out * (1.0 + self.weight.float())).type_as(x)


class Mixer(nn.Module):
    def __init__(self, hidden_size, num_heads, dropout):
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.qkv_proj = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        self.o_proj = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, x, mask):
        b, n, _ = x.shape
        q, k, v = self.qkv_proj(x).view(b, n, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        seen = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        seen = seen if mask is None else seen & mask
        p = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=p)
        return self.o_proj(out.transpose(1, 2).reshape(b, n, -1))


class DecoderLayer(nn.Module):
    def __init__(self, hidden_size, num_heads, intermediate_size, dropout=0.0):
        super().__init__()
        self.self_attn = Mixer(hidden_size, num_heads, dropout)
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)
        self.input_norm, self.post_attention_norm = GemmaNorm(hidden_size), GemmaNorm(hidden_size)
        self.pre_ffn_norm, self.post_ffn_norm = GemmaNorm(hidden_size), GemmaNorm(hidden_size)
        self.drop = nn.Dropout(dropout)

    def mlp(self, x):
        return self.down_proj(F.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))

    def forward(self, x, mask=None):
        x = x + self.drop(self.post_attention_norm(self.self_attn(self.input_norm(x), mask)))
        return x + self.drop(self.post_ffn_norm(self.mlp(self.pre_ffn_norm(x))))
