"""The sinusoidal positional encoding as a table, as clocks, and as a dot product."""

import math
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import field, index, one_of, real
from transformer_edu.book.figures.inputs import check_index

SIZES = (4, 8, 16, 32, 64)
LENGTHS = (32, 64, 128)
LOWEST_BASE, HIGHEST_BASE = 10.0, 100_000.0


class PositionExplorer(Figure):
    """Two positions, p and p + k, in the table of `sinusoidal_table`.

    PE[pos, 2i] = sin(pos · θ_i), PE[pos, 2i+1] = cos(pos · θ_i), θ_i = base^(-2i/d_model) radians per position.

    Args:
        d_model: number of columns: 4, 8, 16, 32 or 64.
        base: from 10 to 100,000; the paper has 10,000.
        positions: number of rows: 32, 64 or 128.
        position: p, counts from 0. offset: k, not negative; p + k is a row too.
        pair: the pair of columns (the clock) that is described, counts from 0.

    Vaswani et al. 2017, section 3.5.
    """

    figure_name: ClassVar[str] = "position-explorer"

    d_model = one_of(16, SIZES)
    base = real(10_000.0, LOWEST_BASE, HIGHEST_BASE)
    positions = one_of(64, LENGTHS)
    position = index(10, lambda so: so.positions)
    offset = field(traitlets.Int(), 3, lambda _, offset, so: _check_offset(offset, so.position, so.positions))
    pair = index(1, lambda so: so.d_model // 2)

    def alt_text(self) -> str:
        """The two rows, and what their dot product is."""
        thetas = [self.base ** (-2 * i / self.d_model) for i in range(self.d_model // 2)]
        product = sum(math.cos(self.offset * theta) for theta in thetas)
        return (
            f"Positional encoding with {self.positions} positions, d_model {self.d_model} and base {self.base:,.0f}: "
            f"the table as a heatmap with rows {self.position} and {self.position + self.offset} marked, pairs of "
            f"columns as clocks with a hand for each of the two positions, clock {self.pair} also large and for two "
            f"positions further on; the angle between the hands hangs on their distance "
            f"{self.offset} alone, and so does the dot product of the two rows, {product:.2f}."
        )


def _check_offset(offset: Any, position: int, positions: int) -> int:
    offset = check_index("offset", offset, positions)
    if position + offset >= positions:
        raise ValueError(f"position + offset must be at most {positions - 1}, the last row, got {position} + {offset}")
    return offset
