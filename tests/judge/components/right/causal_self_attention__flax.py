"""kind: causal_self_attention
name: SelfAttention
style: Flax port, einsum kernels"""
"""Port of our flax.linen attention. Kernels keep their flax shapes, so checkpoints load without a transpose."""
import torch
from torch import nn


def make_causal_mask(length, device=None):
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def combine_masks(*masks):
    masks = [m.bool() for m in masks if m is not None]
    if not masks:
        return None
    out = masks[0]
    for m in masks[1:]:
        out = out & m
    return out


class SelfAttention(nn.Module):
    # the causal mask comes from outside (make_causal_mask), as in flax

    def __init__(self, features, num_heads, dropout_rate=0.0, use_bias=True):
        super().__init__()
        head_dim = features // num_heads
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.dropout_rate = dropout_rate
        init = nn.init.xavier_uniform_
        self.query_kernel = nn.Parameter(init(torch.empty(features, features)).view(features, num_heads, head_dim))
        self.key_kernel = nn.Parameter(init(torch.empty(features, features)).view(features, num_heads, head_dim))
        self.value_kernel = nn.Parameter(init(torch.empty(features, features)).view(features, num_heads, head_dim))
        self.out_kernel = nn.Parameter(init(torch.empty(features, features)).view(num_heads, head_dim, features))
        if use_bias:
            self.query_bias = nn.Parameter(torch.zeros(num_heads, head_dim))
            self.key_bias = nn.Parameter(torch.zeros(num_heads, head_dim))
            self.value_bias = nn.Parameter(torch.zeros(num_heads, head_dim))
            self.out_bias = nn.Parameter(torch.zeros(features))
        else:
            self.query_bias = self.key_bias = self.value_bias = self.out_bias = 0.0

    def forward(self, inputs_q, mask=None):
        query = torch.einsum('btd,dnh->btnh', inputs_q, self.query_kernel) + self.query_bias
        key = torch.einsum('btd,dnh->btnh', inputs_q, self.key_kernel) + self.key_bias
        value = torch.einsum('btd,dnh->btnh', inputs_q, self.value_kernel) + self.value_bias

        query = query / self.head_dim ** 0.5
        attn_weights = torch.einsum('bqnh,bknh->bnqk', query, key)
        if mask is not None:
            big_neg = torch.finfo(attn_weights.dtype).min
            attn_weights = torch.where(mask.bool(), attn_weights, big_neg)
        attn_weights = torch.softmax(attn_weights, dim=-1)
        attn_weights = nn.functional.dropout(attn_weights, self.dropout_rate, training=self.training)
        x = torch.einsum('bnqk,bknh->bqnh', attn_weights, value)
        return torch.einsum('bqnh,nhd->bqd', x, self.out_kernel) + self.out_bias
