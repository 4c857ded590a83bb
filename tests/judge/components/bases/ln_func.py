"""kind: layer_norm
name: layer_norm
"""
import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    d = x.shape[-1]
    mu = x.sum(dim=-1, keepdim=True) / d
    diff = x - mu
    sigma2 = (diff * diff).sum(dim=-1, keepdim=True) / d
    x_hat = diff / (sigma2 + eps) ** 0.5
    return gamma * x_hat + beta
