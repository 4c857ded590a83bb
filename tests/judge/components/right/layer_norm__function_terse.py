"""kind: layer_norm
name: layer_norm
style: two-line function with var_mean(correction=0)"""
import torch


def layer_norm(x, gamma, beta, eps=1e-5):
    var, mu = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return (x - mu) * (var + eps).rsqrt() * gamma + beta
