"""kind: attention
name: dot_product_attention
style: folds (batch, heads) into one axis, baddbmm with the mask as additive input"""
import math
import torch


def dot_product_attention(query, key, value, mask=None):
    B, H, L, E = query.shape
    S = key.size(-2)
    bias = query.new_zeros(B, H, L, S)
    if mask is not None:
        bias.masked_fill_(mask.logical_not(), float('-inf'))
    q = query.reshape(B * H, L, E)
    k = key.reshape(B * H, S, E)
    v = value.reshape(B * H, S, -1)
    attn = torch.baddbmm(bias.view(B * H, L, S), q, k.mT, beta=1, alpha=1 / math.sqrt(E))
    attn = torch.softmax(attn, dim=-1)
    out = torch.bmm(attn, v)
    return out.view(B, H, L, -1), attn.view(B, H, L, S)
