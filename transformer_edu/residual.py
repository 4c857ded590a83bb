"""The residual connection around every sub-layer, and where its norm stands."""

from collections.abc import Callable

from torch import nn

from transformer_edu.normalization import LayerNorm
from transformer_edu.support.arguments import check_residual
from transformer_edu.support.shapes import Float, Tensor


class ResidualConnection(nn.Module):
    """Add a sub-layer's output to its own input, and normalize.

    norm="post" is the paper's LayerNorm(x + Sublayer(x)) (section 3.1); norm="pre" is x + Sublayer(LayerNorm(x)),
    which trains deep stacks without a warm-up (Xiong et al., 2020).

    Args:
        d_model: length of the vectors.
        dropout: probability of zeroing an entry of the sub-layer's output in training (paper, section 5.4).
        norm: "post" or "pre".
        make_norm: builds the norm from d_model.
    """

    def __init__(
        self,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
        make_norm: Callable[[int], nn.Module] = LayerNorm,
    ) -> None:
        super().__init__()
        check_residual(d_model, dropout, norm)
        self.pre = norm == "pre"
        self.norm = make_norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch seq d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch seq d_model"]:
        """Run `sublayer`, a function (batch, seq, d_model) -> (batch, seq, d_model), inside the connection around x."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
