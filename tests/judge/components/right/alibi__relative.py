"""kind: alibi
name: get_alibi
style: biases of one row of keys"""
import torch


def get_alibi(n_heads, seq_len):
    base = 2 ** (-8.0 / n_heads)
    m = torch.tensor([base ** (i + 1) for i in range(n_heads)])
    pos = torch.arange(seq_len) - (seq_len - 1)
    return (m[:, None] * pos[None, :])[:, None, :].expand(n_heads, seq_len, seq_len)
