"""Bring every token's vector to a common scale, one token at a time."""

import torch
from torch import nn

from transformer_edu.support.arguments import check_norm
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_features


class LayerNorm(nn.Module):
    """γ · (x − mean) / √(variance + ε) + β, over the features of each token (Ba et al., 2016, equation 4).

    The variance is the biased one (divide by d_model, not d_model − 1) and ε stands under the root.

    Args:
        d_model: number of features that share a mean and a variance.
        eps: keeps the root away from zero for a constant vector.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        check_norm(d_model, eps)
        self.d_model = d_model
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))  # γ
        self.bias = nn.Parameter(torch.zeros(d_model))  # β

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalize the last dimension of x (..., d_model)."""
        check_features("x", x, self.d_model)
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return self.weight * centred / torch.sqrt(variance + self.eps) + self.bias
