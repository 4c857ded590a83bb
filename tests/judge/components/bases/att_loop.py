"""kind: attention
name: attend
"""
import math
import torch


def attend(query, key, value, mask=None):
    batch, heads, q_len, d_head = query.shape
    k_len = key.shape[2]
    if mask is not None:
        mask = mask.expand(batch, heads, q_len, k_len)
    out = torch.zeros(batch, heads, q_len, value.shape[-1], dtype=query.dtype)
    for b in range(batch):
        for h in range(heads):
            s = query[b, h] @ key[b, h].T / math.sqrt(d_head)
            if mask is not None:
                s = s.masked_fill(~mask[b, h], float("-inf"))
            out[b, h] = torch.softmax(s, dim=-1) @ value[b, h]
    return out
