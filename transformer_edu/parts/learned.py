"""Positions that are learned as words are."""

import torch
from torch import nn

from transformer_edu.support.arguments import check_positioned, check_sizes
from transformer_edu.support.shapes import Int, Tensor, Vectors
from transformer_edu.support.validation import check_ids, check_probability


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
        self.table = nn.Parameter(nn.init.normal_(torch.empty(max_len, d_model), std=0.02))  # small, as in BERT
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Vectors, offset: int | Int[Tensor, "batch seq"] = 0) -> Vectors:
        """Add rows offset .. offset + seq - 1 of the table to x (batch, seq, d_model); or the rows that it names."""
        if not isinstance(offset, int):
            check_ids("offset", offset, len(self.table))
            return self.dropout(x + self.table[offset])
        check_positioned(x, offset, self.table)
        return self.dropout(x + self.table[offset : offset + x.shape[1]])
