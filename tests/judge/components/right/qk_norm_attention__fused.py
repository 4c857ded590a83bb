"""kind: qk_norm_attention
name: CausalSelfAttention
style: fused, torch.nn.RMSNorm"""
import torch.nn.functional as F
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, dropout=0.0):
        super().__init__()
        self.n_head, self.p = n_head, dropout
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.q_norm, self.k_norm = (nn.RMSNorm(n_embd // n_head, eps=1e-5) for _ in "qk")

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.n_head, -1) for y in self.c_attn(x).split(c, dim=2))
        q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (y.transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p if self.training else 0)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))
