"""Telling a model that is blind to order where each token stands."""

from collections.abc import Callable

import torch
from torch import nn

from transformer_edu.support.arguments import check_positioned, check_table
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_probability


def sinusoidal_table(max_len: int, d_model: int) -> Float[Tensor, "{max_len} {d_model}"]:
    """One row for each position: sines and cosines of ever slower clocks (paper, section 3.5).

        PE[pos, 2i]   = sin(pos · θ_i)
        PE[pos, 2i+1] = cos(pos · θ_i)      θ_i = 10000^(-2i/d_model) radians per position

    Here i counts *pairs* of columns, 0 .. d_model/2 - 1. The angles are computed in float64, because at
    position 5,000 a float32 angle is off by a few ten-thousandths of a radian.

    Args:
        max_len: number of positions (rows).
        d_model: number of columns, even.
    """
    check_table(max_len, d_model)
    position = torch.arange(max_len, dtype=torch.float64)[:, None]  # (max_len, 1)
    theta = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (d_model / 2)
    table = torch.empty(max_len, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * theta)
    table[:, 1::2] = torch.cos(position * theta)
    return table.to(torch.get_default_dtype())


class SinusoidalTable(nn.Module):
    """Holds `sinusoidal_table(max_len, d_model)` for parts that use its rows.

    The table is a buffer: it moves with `.to(device)` and no optimizer ever changes it. It is not saved with
    the weights, because it follows from the formula.
    """

    table: Tensor  # (max_len, d_model)

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        self.register_buffer("table", self.make_table(max_len, d_model), persistent=False)

    def make_table(self, max_len: int, d_model: int) -> Float[Tensor, "max_len d_model"]:
        """The table, from its formula."""
        return sinusoidal_table(max_len, d_model)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """All that moves or casts a module comes through here; `to_empty` would leave a table of anything at all."""
        before = self.table
        super()._apply(fn, recurse)
        if self.table is not before:
            with torch.device("cpu"):
                self.table = self.make_table(*before.shape).to(self.table)
        return self


class PositionalEncoding(SinusoidalTable):
    """Add the sinusoidal table's rows to the embeddings, then apply dropout (paper, sections 3.5 and 5.4).

    Args:
        d_model: length of the vectors, even.
        max_len: longest sequence, in tokens.
        dropout: probability of zeroing an entry of the sum.
    """

    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(d_model, max_len)
        check_probability("dropout", dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_model"], offset: int = 0) -> Float[Tensor, "batch seq d_model"]:
        """Add rows offset .. offset + seq - 1 of the table to x (batch, seq, d_model)."""
        check_positioned(x, offset, self.table)
        seq = x.shape[1]  # dimension 1 counts positions; dimension 0 counts sentences
        return self.dropout(x + self.table[offset : offset + seq])
