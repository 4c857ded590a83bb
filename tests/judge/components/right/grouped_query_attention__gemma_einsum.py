"""kind: grouped_query_attention
name: Attention
style: JAX/Flax port"""
"""Grouped-query self-attention. Port of a JAX/Flax (Gemma-like) module to PyTorch.

Axis letters:  B batch   T queries   S keys   D features   K kv heads   G queries per kv head   H head size
"""
import torch
from torch import nn

K_MASK = -2.3819763e38


class Einsum(nn.Module):
    def __init__(self, shape, fan_in):
        super().__init__()
        self.w = nn.Parameter(torch.randn(*shape) * fan_in ** -0.5)

    def forward(self, eqn, x):
        return torch.einsum(eqn, x, self.w)


class Attention(nn.Module):
    def __init__(self, features, num_heads, num_kv_heads, dropout=0.0):
        super().__init__()
        head_dim = features // num_heads
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.query_pre_attn_scalar = head_dim ** -0.5
        self.q_einsum = Einsum((num_heads, features, head_dim), features)
        self.kv_einsum = Einsum((2, num_kv_heads, features, head_dim), features)
        self.attn_vec_einsum = Einsum((num_heads, head_dim, features), features)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, attn_mask=None):
        b, t, _ = x.shape
        query_proj = self.q_einsum("BTD,NDH->BTNH", x)
        key_proj, value_proj = self.kv_einsum("BSD,CKDH->CBSKH", x)

        query_scaled = query_proj * self.query_pre_attn_scalar
        query_scaled = query_scaled.reshape(b, t, self.num_kv_heads, self.num_heads // self.num_kv_heads, -1)
        logits = torch.einsum("BTKGH,BSKH->BTKGS", query_scaled, key_proj)
        logits = logits.reshape(b, t, self.num_heads, t)                       # B T N S

        causal = torch.ones((t, t), dtype=torch.bool, device=x.device).tril()
        mask = causal[None, :, None]                                           # 1 T 1 S
        if attn_mask is not None:                                              # True = attend
            if attn_mask.dim() == 4:                                           # B N T S -> B T N S
                attn_mask = attn_mask.transpose(1, 2)
            else:                                                              # (B) T S -> (B) T 1 S
                attn_mask = attn_mask.unsqueeze(-2)
            mask = mask & attn_mask.bool()
        padded_logits = torch.where(mask, logits, K_MASK)
        probs = self.dropout(torch.softmax(padded_logits, dim=-1))

        probs = probs.reshape(b, t, self.num_kv_heads, self.num_heads // self.num_kv_heads, t)
        encoded = torch.einsum("BTKGS,BSKH->BTKGH", probs, value_proj)
        encoded = encoded.reshape(b, t, self.num_heads, -1)
        return self.attn_vec_einsum("BTNH,NHD->BTD", encoded)
