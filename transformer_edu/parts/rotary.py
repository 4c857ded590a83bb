"""Positions that turn queries and keys, so that their products know the distance between two tokens alone."""

import torch

from transformer_edu.positional import SinusoidalTable
from transformer_edu.support.arguments import check_rotated
from transformer_edu.support.cache import HeadVectors
from transformer_edu.support.validation import check_choice


class RotaryPositions(SinusoidalTable):
    """Turn pair i of the vector at position p by the angle p · 10000^(-2i / d_head) (Su et al., 2021, equation 34).

    A turned query times a turned key depends on how far apart they stand, not on where.

    Args:
        d_head: length of the vectors, even.
        max_len: longest sequence, in tokens.
        pairs: what is turned together: "neighbours", entries 2i and 2i + 1 (the paper), or "halves", entries i and
            i + d_head / 2 (Llama). One is the other with the entries in another order.
    """

    def __init__(self, d_head: int, max_len: int = 5000, pairs: str = "neighbours") -> None:
        super().__init__(d_head, max_len)
        check_choice("pairs", pairs, ("neighbours", "halves"))
        self.pairs = pairs

    def rotate(self, x: HeadVectors, offset: int = 0) -> HeadVectors:
        """x (batch, heads, seq, d_head), whose first row stands at position `offset` -> the same shape, turned."""
        check_rotated(x, offset, self.table)
        rows = self.table[offset : offset + x.shape[-2]].to(x.dtype)  # (seq, d_head)
        sin, cos = rows[:, 0::2], rows[:, 1::2]
        if self.pairs == "halves":
            u, v = x.chunk(2, dim=-1)
            return torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)
        u, v = x[..., 0::2], x[..., 1::2]
        return torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1).flatten(-2)

    forward = rotate
