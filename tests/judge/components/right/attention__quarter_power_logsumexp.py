"""kind: attention
name: attention
style: query and key are each scaled by d_k**-0.25, and the softmax is written as exp(s - logsumexp(s)); masked by torch.where"""
import torch


def attention(query, key, value, mask=None, dropout=None):
    "Compute 'Scaled Dot Product Attention'"
    quarter = query.size(-1) ** -0.25
    scores = (query * quarter) @ (key * quarter).transpose(-2, -1)
    if mask is not None:
        low = scores.new_full((), torch.finfo(scores.dtype).min)
        scores = torch.where(mask == 0, low, scores)
    p_attn = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
    if dropout is not None:
        p_attn = dropout(p_attn)
    return p_attn @ value, p_attn
