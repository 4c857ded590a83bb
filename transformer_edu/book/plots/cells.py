"""Coloured cells with numbers printed on them: the part that tables and heatmaps share."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, Normalize

from transformer_edu.book.plots.style import ink_on, number

CHARACTER = 0.085  # inches: about the width of one character at the book's tick size
NOT_A_NUMBER = "#d0d0d0"  # the cell of −∞ or NaN


def draw_cells(axes: Axes, values: np.ndarray, colours: Colormap, scale: Normalize) -> QuadMesh:
    """Fill one cell for each value, first row on top, with white lines between cells; −∞ and NaN are grey."""
    rows, columns = values.shape
    mesh = axes.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        np.ma.masked_invalid(values),
        cmap=colours.with_extremes(bad=NOT_A_NUMBER),
        norm=scale,
        edgecolors="white",
        linewidth=1.5,
    )
    axes.set(aspect="equal", xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return mesh


def print_numbers(axes: Axes, mesh: QuadMesh, values: np.ndarray, decimals: int, signed: bool) -> None:
    """Write every value on its cell, in black or white, whichever reads better."""
    colours = mesh.to_rgba(np.ma.masked_invalid(values))
    for row, column in np.ndindex(*values.shape):
        text = number(float(values[row, column]), decimals, signed)
        axes.text(column, row, text, ha="center", va="center", color=ink_on(colours[row, column][:3]))


def label_cells(axes: Axes, rows: Sequence[str], columns: Sequence[str], cell: float) -> None:
    """Name rows and columns; column names turn when they are wider than a cell of `cell` inches."""
    axes.set_yticks(range(len(rows)), rows)
    widest = max(len(label) for label in columns) * CHARACTER
    axes.set_xticks(range(len(columns)), columns, rotation=0 if widest <= cell - 0.05 else 90)
