"""kind: layer_norm
name: layer_norm
style: a function; the mean is removed with the centring matrix I - 11^T/d, and the spread is the vector norm / sqrt(d)"""
import math

import torch


def layer_norm(X, gamma, beta, eps=1e-5):
    """Layer normalisation as linear algebra: project out the ones vector, then rescale the length to sqrt(d)."""
    d = X.shape[-1]
    centre = torch.eye(d, dtype=torch.float64, device=X.device) - 1.0 / d
    Z = torch.einsum('...i,ij->...j', X.double(), centre)
    length = torch.sqrt(torch.einsum('...i,...i->...', Z, Z) + d * eps)[..., None]
    return (Z * (math.sqrt(d) / length)).type_as(X) * gamma + beta
