"""kind: rms_norm
name: rms_norm
style: plain function, vector norm over sqrt(n) folded into one root"""
import torch
from torch import Tensor


def rms_norm(x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Tensor:
    d = x.size(-1)
    sum_of_squares = torch.einsum("...d,...d->...", x, x).unsqueeze(-1)
    rms = torch.sqrt(sum_of_squares / d + eps)
    return x / rms * gamma
