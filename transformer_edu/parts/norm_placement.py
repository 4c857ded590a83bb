"""A residual connection whose norms stand inside: what runs past the sub-layer is never normalized."""

from collections.abc import Callable

from torch import nn

from transformer_edu.support.shapes import Tensor, Vectors


class InnerNorms(nn.Module):
    """x + after(Sublayer(before(x))).

    `before` alone is pre-norm; both are Gemma 2's and 3's sandwich; `after` alone is OLMo 2's post-norm, which unlike
    the paper's does not touch the sum.

    Args:
        before: the norm of what goes into the sub-layer; None: none.
        after: the norm of what comes out of it; None: none.
        dropout: probability of zeroing an entry of what is added, in training.
    """

    def __init__(self, before: nn.Module | None, after: nn.Module | None, dropout: float = 0.0) -> None:
        super().__init__()
        self.before = before if before is not None else nn.Identity()
        self.after = after if after is not None else nn.Identity()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Vectors, sublayer: Callable[[Tensor], Tensor]) -> Vectors:
        """Run `sublayer`, (batch, seq, d_model) to the same, inside the connection."""
        return x + self.dropout(self.after(sublayer(self.before(x))))
