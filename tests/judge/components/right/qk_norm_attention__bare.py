"""kind: qk_norm_attention
name: Attention
style: nanochat, norms without gains"""
import torch
import torch.nn.functional as F
from torch import nn


def norm(x):
    return F.rms_norm(x, (x.size(-1),))


class Attention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_q = nn.Linear(n_embd, n_embd, bias=False)
        self.c_k = nn.Linear(n_embd, n_embd, bias=False)
        self.c_v = nn.Linear(n_embd, n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x):
        b, t, c = x.size()
        q = norm(self.c_q(x).view(b, t, self.n_head, -1)).transpose(1, 2)
        k = norm(self.c_k(x).view(b, t, self.n_head, -1)).transpose(1, 2)
        v = self.c_v(x).view(b, t, self.n_head, -1).transpose(1, 2)
        allowed = torch.ones(t, t, dtype=torch.bool).tril()
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))
