"""kind: alibi
name: linear_biases
style: distances in a loop, −∞ above"""
import torch


def linear_biases(heads, n):
    bias = torch.full((heads, n, n), float("-inf"))
    for h in range(heads):
        for q in range(n):
            for k in range(q + 1):
                bias[h, q, k] = -(q - k) * 2.0 ** (-8.0 * (h + 1) / heads)
    return bias
