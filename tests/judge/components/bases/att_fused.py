"""kind: attention
name: sdpa
"""
import torch
import torch.nn.functional as F


def sdpa(query, key, value, mask=None):
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=0.0, is_causal=False
    )
