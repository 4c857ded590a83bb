"""kind: decoder_only_block
name: Block
style: OLMo 2, norms behind the parts"""
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in "qkvo")
        self.gate, self.up = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down = nn.Linear(d_ff, d_model, bias=False)
        self.behind_attention, self.behind_mlp = (nn.RMSNorm(d_model, eps=1e-6) for _ in range(2))

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (part(x).view(b, t, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.behind_attention(self.attend(x))
        return x + self.behind_mlp(self.down(F.silu(self.gate(x)) * self.up(x)))
