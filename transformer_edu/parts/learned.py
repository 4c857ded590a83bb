"""Positions that are learned as words are."""

import torch
from torch import nn

from transformer_edu.support.arguments import check_positioned, check_sizes
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_probability


class LearnedPositionalEncoding(nn.Module):
    """Add a *trained* row for each position; the paper found nearly identical results (table 3, row E).

    A position never met in training has a row never trained.

    Args:
        d_model: length of the vectors.
        max_len: longest sequence, in tokens.
        dropout: probability of zeroing an entry of the sum.
    """

    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__()
        check_sizes(d_model=d_model, max_len=max_len)
        check_probability("dropout", dropout)
        self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.02)  # small beside the embeddings (as in BERT)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_model"], offset: int = 0) -> Float[Tensor, "batch seq d_model"]:
        """Add rows offset .. offset + seq - 1 of the table to x (batch, seq, d_model)."""
        check_positioned(x, offset, self.table)
        seq = x.shape[1]
        return self.dropout(x + self.table[offset : offset + seq])
