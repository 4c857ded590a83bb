"""kind: latent_attention
name: LatentAttention
style: terse, interleaved pairs"""
import torch
from torch import nn, einsum, cat, arange
import torch.nn.functional as F

# helpers

def exists(v):
    return v is not None

def split_heads(t, h):  # b n (h d) -> b h n d
    return t.unflatten(-1, (h, -1)).transpose(1, 2)

def merge_heads(t):     # b h n d -> b n (h d)
    return t.transpose(1, 2).flatten(-2)

def rotate_pairs(t):
    a, b = t[..., 0::2], t[..., 1::2]
    return torch.stack((-b, a), dim = -1).flatten(-2)

def apply_rotary(t):
    n, d = t.shape[-2:]
    inv_freq = 10000 ** -(arange(0, d, 2, device = t.device).float() / d)
    freqs = einsum('i, j -> i j', arange(n, device = t.device).float(), inv_freq)
    freqs = freqs.repeat_interleave(2, dim = -1)
    return t * freqs.cos() + rotate_pairs(t) * freqs.sin()

# class

class LatentAttention(nn.Module):
    def __init__(self, dim, heads = 8, rank = 16, dim_rope = 8):
        super().__init__()
        dim_head = dim // heads
        dim_inner = dim_head * heads
        self.heads = heads
        self.scale = (dim_head + dim_rope) ** -0.5

        self.to_q = nn.Linear(dim, dim_inner, bias = False)
        self.to_q_rope = nn.Linear(dim, heads * dim_rope, bias = False)
        self.to_latent = nn.Linear(dim, rank, bias = False)
        self.latent_norm = nn.RMSNorm(rank, eps = 1e-6)
        self.latent_to_kv = nn.Linear(rank, dim_inner * 2, bias = False)
        self.to_k_rope = nn.Linear(dim, dim_rope, bias = False)
        self.to_out = nn.Linear(dim_inner, dim, bias = False)

    def forward(self, x, mask = None):
        n, h, device = x.shape[1], self.heads, x.device

        latent = self.latent_norm(self.to_latent(x))
        k, v = self.latent_to_kv(latent).chunk(2, dim = -1)
        q, qr, k, v = (split_heads(t, h) for t in (self.to_q(x), self.to_q_rope(x), k, v))

        qr = apply_rotary(qr)
        kr = apply_rotary(self.to_k_rope(x))

        sim = einsum('b h i d, b h j d -> b h i j', q, k) + einsum('b h i d, b j d -> b h i j', qr, kr)
        sim = sim * self.scale

        mask_value = -torch.finfo(sim.dtype).max
        if exists(mask):
            mask = mask[:, None] if mask.ndim == 3 else mask
            sim = sim.masked_fill(~mask, mask_value)

        causal_mask = torch.ones((n, n), dtype = torch.bool, device = device).triu(1)
        sim = sim.masked_fill(causal_mask, mask_value)

        attn = sim.softmax(dim = -1)
        out = einsum('b h i j, b h j d -> b h i d', attn, v)
        return self.to_out(merge_heads(out))
