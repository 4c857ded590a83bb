"""kind: grouped_query_attention
name: GroupedQueryAttention
style: chat model, einsum over groups without repeating, packed kv, mask True = may attend without heads' dimension"""
from typing import Optional

import torch
import torch.nn as nn
from torch import Tensor


class GroupedQueryAttention(nn.Module):
    """Grouped-query attention (Ainslie et al., 2023) without materialising repeated keys and values.

    Query heads are arranged as (kv_head, query_in_group); head ``i`` reads key/value head ``i // group_size``.
    """

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_heads must be divisible by num_kv_heads")
        self.num_kv_heads = num_kv_heads
        self.group_size = num_heads // num_kv_heads
        self.head_dim = d_model // num_heads

        self.q_proj = nn.Linear(d_model, d_model)
        # keys and values in a single matrix: first all keys, then all values
        self.kv_proj = nn.Linear(d_model, 2 * num_kv_heads * self.head_dim)
        self.o_proj = nn.Linear(d_model, d_model)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        """x: (batch, seq, d_model). mask: bool, True = keep, (seq, seq) or (batch, seq, seq)."""
        b, t, _ = x.shape
        g, r, d = self.num_kv_heads, self.group_size, self.head_dim

        q = self.q_proj(x).reshape(b, t, g, r, d)
        k, v = self.kv_proj(x).reshape(b, t, 2, g, d).unbind(dim=2)

        logits = torch.einsum("bqgrd,bkgd->bgrqk", q, k) * d**-0.5

        keep = torch.ones(t, t, dtype=torch.bool, device=x.device).tril().unsqueeze(0)
        if mask is not None:
            keep = keep & mask.to(torch.bool)
        keep = keep[:, None, None]  # (batch or 1, 1, 1, seq, seq)
        logits = logits.masked_fill(keep.logical_not(), torch.finfo(logits.dtype).min)

        attn = self.attn_dropout(torch.softmax(logits, dim=-1))
        out = torch.einsum("bgrqk,bkgd->bqgrd", attn, v).reshape(b, t, g * r * d)
        return self.o_proj(out)
