"""kind: sink_attention
name: attention
style: one more column"""
import math

import torch


def attention(q, k, v, sinks, mask=None):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30 if scores.dtype != torch.half else -6e4)
    extra = sinks.to(scores.dtype).view(1, -1, 1, 1).expand(scores.size(0), -1, scores.size(2), 1)
    weights = torch.cat((scores, extra), dim=3).softmax(dim=3)
    return torch.einsum("bhqk,bhkd->bhqd", weights[:, :, :, :-1], v)
