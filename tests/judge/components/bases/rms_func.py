"""kind: rms_norm
name: rms_norm
"""
import torch


def rms_norm(x, gamma, eps=1e-6):
    ms = torch.mean(x * x, dim=-1, keepdim=True)
    root = torch.sqrt(ms + eps)
    return x / root * gamma
