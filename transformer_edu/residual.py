"""The residual connection around every sub-layer, and where its norm stands."""

from collections.abc import Callable

from torch import nn

from transformer_edu.support.arguments import check_residual
from transformer_edu.support.shapes import Tensor, Vectors


class ResidualConnection(nn.Module):
    """Add a sub-layer's output to its own input, and normalize.

    Post-norm is the paper's Norm(x + Sublayer(x)) (section 3.1); pre-norm is x + Sublayer(Norm(x)), which trains
    deep stacks without a warm-up (Xiong et al., 2020).

    Args:
        norm: the norm, a module (batch, seq, d_model) -> (batch, seq, d_model), as `LayerNorm(d_model)`.
        dropout: probability of zeroing an entry of the sub-layer's output in training (paper, section 5.4).
        pre: whether the norm stands in front of the sub-layer instead of behind the addition.
    """

    def __init__(self, norm: nn.Module, dropout: float = 0.0, pre: bool = False) -> None:
        super().__init__()
        check_residual(norm, dropout, pre)
        self.pre = pre
        self.norm = norm
        self.d_model = getattr(norm, "d_model", None)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Vectors, sublayer: Callable[[Tensor], Tensor]) -> Vectors:
        """Run `sublayer`, (batch, seq, d_model) to the same, inside of it."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
