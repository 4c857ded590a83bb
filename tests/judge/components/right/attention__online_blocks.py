"""kind: attention
name: flash_attention
style: streaming softmax over key blocks (FlashAttention idea in plain PyTorch)"""
import torch

BLOCK = 4


def flash_attention(query, key, value, mask=None):
    *lead, n_q, d = query.shape
    n_k = key.shape[-2]
    acc = query.new_zeros(*lead, n_q, value.shape[-1])
    m = query.new_full((*lead, n_q, 1), -1e30)
    l = query.new_zeros(*lead, n_q, 1)
    if mask is not None:
        mask = mask.expand(*lead, n_q, n_k)
    for start in range(0, n_k, BLOCK):
        k = key[..., start:start + BLOCK, :]
        v = value[..., start:start + BLOCK, :]
        s = query @ k.transpose(-2, -1) * d ** -0.5
        if mask is not None:
            blk = mask[..., start:start + BLOCK]
            s = s.masked_fill(~blk, float("-inf"))
        m_new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - m_new)
        fix = torch.exp(m - m_new)
        l = l * fix + p.sum(-1, keepdim=True)
        acc = acc * fix + p @ v
        m = m_new
    return acc / l
