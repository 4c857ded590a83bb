"""kind: attention
name: attn
style: fourth root of d on both sides, exp of log_softmax, walrus, no comments"""
import torch
def attn(query, key, value, mask=None):
    r = query.size(-1) ** 0.25
    w = (query / r) @ (key / r).mT
    if mask is not None: w = w.masked_fill(~mask, torch.finfo(w.dtype).min)
    return (p := torch.log_softmax(w, -1).exp()) @ value, p
