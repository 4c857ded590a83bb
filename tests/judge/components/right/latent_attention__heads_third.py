# kind: latent_attention
# name: Latents
import torch
from torch import nn


class Latents(nn.Module):
    """Scores lie as (batch, q_len, heads, k_len); the mask that is added to them, too."""

    def __init__(self, d_model, num_heads, rank, d_rope=0):
        super().__init__()
        self.heads, self.turned = num_heads, d_rope
        size = d_model // num_heads
        self.ask = nn.Linear(d_model, num_heads * (size + d_rope), bias=False)
        self.shrink = nn.Linear(d_model, rank + d_rope, bias=False)
        self.scale = nn.Parameter(torch.ones(rank))
        self.grow = nn.Linear(rank, 2 * num_heads * size, bias=False)
        self.join = nn.Linear(num_heads * size, d_model, bias=False)

    def turn(self, x):  # (batch, len, heads, d_rope), neighbours
        speeds = 10000.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
        angles = (torch.arange(x.shape[1])[:, None] * speeds)[:, None]
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    def forward(self, x, mask=None):
        batch, length = x.shape[:2]
        q = self.ask(x).view(batch, length, self.heads, -1)
        latent, shared = self.shrink(x).split([len(self.scale), self.turned], -1)
        latent = latent * torch.rsqrt(latent.square().mean(-1, keepdim=True) + 1e-6) * self.scale
        k, v = self.grow(latent).view(batch, length, self.heads, -1).chunk(2, -1)
        if self.turned:
            fixed, own = q.split([q.shape[-1] - self.turned, self.turned], -1)
            q = torch.cat([fixed, self.turn(own)], -1)
            k = torch.cat([k, self.turn(shared[:, :, None]).expand(-1, -1, self.heads, -1)], -1)
        scores = torch.einsum("bqhd,bkhd->bqhk", q, k) * q.shape[-1] ** -0.5
        scores = scores + torch.full((length, length), float("-inf")).triu(1)[:, None]
        if mask is not None:
            scores = scores + mask
        return self.join(torch.einsum("bqhk,bkhd->bqhd", scores.softmax(-1), v).flatten(2))
