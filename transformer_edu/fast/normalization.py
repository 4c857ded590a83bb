"""The norms by PyTorch's fused kernels, which read each token once."""

import torch.nn.functional as F

from transformer_edu import normalization, parts
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_features


class LayerNorm(normalization.LayerNorm):
    """`transformer_edu.LayerNorm` in all but speed."""

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalize the last dimension of x (..., d_model)."""
        check_features("x", x, self.d_model)
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm(parts.RMSNorm):
    """`transformer_edu.RMSNorm` in all but speed."""

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Normalize the last dimension of x (..., d_model)."""
        check_features("x", x, self.d_model)
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
