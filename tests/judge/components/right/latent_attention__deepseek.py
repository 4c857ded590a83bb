"""kind: latent_attention
name: MLA
style: DeepSeek"""
import torch
from torch import nn


def apply_rotary(x):  # (batch, seq, heads, d)
    speeds = 1.0 / 10000.0 ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.outer(torch.arange(x.shape[1]).float(), speeds)
    turns = torch.polar(torch.ones_like(angles), angles)[None, :, None, :]
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(3).type_as(x)


class MLA(nn.Module):
    def __init__(self, dim, n_heads, kv_lora_rank, qk_rope_head_dim):
        super().__init__()
        self.n_heads, self.kv_lora_rank, self.rope = n_heads, kv_lora_rank, qk_rope_head_dim
        self.nope = self.v_dim = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * (self.nope + self.rope), bias=False)
        self.wkv_a = nn.Linear(dim, kv_lora_rank + self.rope, bias=False)
        self.kv_norm = nn.RMSNorm(kv_lora_rank, eps=1e-6)
        self.wkv_b = nn.Linear(kv_lora_rank, n_heads * (self.nope + self.v_dim), bias=False)
        self.wo = nn.Linear(n_heads * self.v_dim, dim, bias=False)
        self.softmax_scale = (self.nope + self.rope) ** -0.5

    def forward(self, x, mask=None):
        b, s, _ = x.shape
        q = self.wq(x).view(b, s, self.n_heads, -1)
        q_nope, q_pe = q.split([self.nope, self.rope], dim=-1)
        q = torch.cat([q_nope, apply_rotary(q_pe)], dim=-1)
        kv, k_pe = self.wkv_a(x).split([self.kv_lora_rank, self.rope], dim=-1)
        k_pe = apply_rotary(k_pe.unsqueeze(2))
        kv = self.wkv_b(self.kv_norm(kv)).view(b, s, self.n_heads, -1)
        k_nope, v = kv.split([self.nope, self.v_dim], dim=-1)
        k = torch.cat([k_nope, k_pe.expand(-1, -1, self.n_heads, -1)], dim=-1)
        scores = torch.einsum("bshd,bthd->bsht", q, k) * self.softmax_scale
        later = torch.full((s, s), float("-inf")).triu(1)[:, None, :]
        scores = scores + later
        if mask is not None:
            scores = scores + mask.squeeze(1).unsqueeze(2)
        weights = scores.softmax(dim=-1)
        return self.wo(torch.einsum("bsht,bthd->bshd", weights, v).flatten(2))
