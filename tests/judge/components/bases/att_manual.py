"""kind: attention
name: attention
"""
import torch


def my_softmax(z):
    z = z - z.max(dim=-1, keepdim=True).values
    e = torch.exp(z)
    return e / e.sum(dim=-1, keepdim=True)


def attention(Q, K, V, mask=None):
    dk = Q.shape[-1]
    S = Q @ K.mT / dk ** 0.5
    if mask is not None:
        S = S.masked_fill(mask.logical_not(), torch.finfo(S.dtype).min)
    A = my_softmax(S)
    return A @ V, A
