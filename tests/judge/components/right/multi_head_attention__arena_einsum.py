"""kind: multi_head_attention
name: Attention
style: ARENA / TransformerLens (per-head W_Q [n_heads, d_model, d_head], einsum, IGNORE buffer)"""
import torch as t
from torch import nn, Tensor


class Attention(nn.Module):
    IGNORE: Tensor

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        d_head = d_model // n_heads
        self.d_head = d_head
        self.W_Q = nn.Parameter(t.empty((n_heads, d_model, d_head)))
        self.W_K = nn.Parameter(t.empty((n_heads, d_model, d_head)))
        self.W_V = nn.Parameter(t.empty((n_heads, d_model, d_head)))
        self.W_O = nn.Parameter(t.empty((n_heads, d_head, d_model)))
        self.b_Q = nn.Parameter(t.zeros((n_heads, d_head)))
        self.b_K = nn.Parameter(t.zeros((n_heads, d_head)))
        self.b_V = nn.Parameter(t.zeros((n_heads, d_head)))
        self.b_O = nn.Parameter(t.zeros((d_model)))
        for w in (self.W_Q, self.W_K, self.W_V, self.W_O):
            nn.init.normal_(w, std=0.2)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("IGNORE", t.tensor(float("-inf"), dtype=t.float32))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        q = t.einsum("bpm,nmh->bpnh", query, self.W_Q) + self.b_Q
        k = t.einsum("bpm,nmh->bpnh", key, self.W_K) + self.b_K
        v = t.einsum("bpm,nmh->bpnh", value, self.W_V) + self.b_V
        attn_scores = t.einsum("bqnh,bknh->bnqk", q, k) / self.d_head ** 0.5
        if mask is not None:
            attn_scores = t.where(mask, attn_scores, self.IGNORE.to(attn_scores.dtype))
        pattern = self.drop(attn_scores.softmax(-1))
        z = t.einsum("bknh,bnqk->bqnh", v, pattern)
        return t.einsum("bqnh,nhm->bqm", z, self.W_O) + self.b_O
