"""A norm that divides, and neither centres nor shifts."""

import torch
from torch import nn

from transformer_edu.support.arguments import check_norm
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_features


class RMSNorm(nn.Module):
    """γ · x / √(mean of x² + ε), over the features of each token (Zhang & Sennrich, 2019, equation 4).

    Layer normalization without the subtraction of the mean and without β.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        check_norm(d_model, eps)
        self.d_model = d_model
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))  # γ

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalize the last dimension of x (..., d_model)."""
        check_features("x", x, self.d_model)
        return self.weight * x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
