"""The positional table as a heatmap, as waves, and as similarities that depend on the offset alone."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from torch import Tensor

from transformer_edu.book.plots.inputs import as_finite, as_indices
from transformer_edu.book.plots.style import (
    COLOURS,
    FAINT,
    SIGNED,
    SIGNED_TICKS,
    WIDTH,
    book_style,
    colour_scale,
    quiet_grid,
    whole_ticks,
)

MOST_MARKERS = 60  # points on a curve up to which each gets a marker
LAYERS: tuple[dict[str, Any], ...] = (
    {"linewidth": 7, "alpha": 0.35, "linestyle": "-"},
    {"linewidth": 2.5, "linestyle": "--"},
    {"linewidth": 0, "linestyle": "", "marker": "o", "markersize": 3.5, "markevery": 3},
)


@book_style
def plot_encoding(table: Tensor) -> Figure:
    """The whole table (max_len, d_model): a row for each position, a column for each dimension."""
    values = as_finite("table", table, 2)
    figure, axes = plt.subplots(figsize=(WIDTH, 3.8), layout="constrained")
    largest = float(np.abs(values).max()) or 1.0
    image = axes.imshow(values, cmap=SIGNED, norm=Normalize(-largest, largest), aspect="auto", interpolation="nearest")
    axes.set(xlabel="dimension", ylabel="position")
    whole_ticks(axes.xaxis, axes.yaxis)
    bar = figure.colorbar(image, label="value", pad=0.02, aspect=25, format=SIGNED_TICKS)
    bar.outline.set_visible(False)
    return figure


@book_style
def plot_waves(table: Tensor, dimensions: Sequence[int]) -> Figure:
    """Single dimensions of the table (max_len, d_model) as curves over positions, one strip each, one scale."""
    values = as_finite("table", table, 2)
    chosen = as_indices("dimensions", dimensions, values.shape[1])
    figure, grid = plt.subplots(
        len(chosen),
        1,
        figsize=(WIDTH, 0.85 * len(chosen) + 0.7),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    marker = "o" if len(values) <= MOST_MARKERS else ""
    for axes, dimension in zip(grid.flat, chosen, strict=True):
        axes.plot(values[:, dimension], color=COLOURS[0], marker=marker, markersize=3.5, linewidth=1.5)
        axes.annotate(f"dimension {dimension}", (1, 0.5), (8, 0), "axes fraction", "offset points", va="center")
        axes.yaxis.set_major_formatter(SIGNED_TICKS)
        axes.locator_params(axis="y", nbins=3)
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xlabel("position")
    whole_ticks(axes.xaxis)
    figure.supylabel("value", fontsize=plt.rcParams["font.size"])
    return figure


@book_style
def plot_position_similarity(table: Tensor, positions: Sequence[int] = (10, 30, 50)) -> Figure:
    """Left: dot products between all rows of the table. Right: the same numbers against the offset k - p.

    Args:
        table: (max_len, d_model).
        positions: the rows p drawn on the right. Where the product depends on the offset alone, they share one curve.
    """
    values = as_finite("table", table, 2)
    chosen = as_indices("positions", positions, len(values))
    products = values @ values.T  # (max_len, max_len)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.3), layout="constrained", width_ratios=(1.25, 1))
    colours, scale = colour_scale(products)
    image = left.imshow(products, cmap=colours, norm=scale, interpolation="nearest")
    left.set(xlabel="position", ylabel="position", title="dot product of two rows")
    whole_ticks(left.xaxis, left.yaxis)
    bar = figure.colorbar(image, ax=left, shrink=0.8, aspect=20, pad=0.03)
    bar.outline.set_visible(False)
    draw_offsets(right, products, chosen)
    return figure


def draw_offsets(axes: Axes, products: np.ndarray, positions: list[int]) -> None:
    """One curve for each position, drawn so that curves that coincide all show: wide and pale, dashed, dotted."""
    for order, position in enumerate(positions):
        axes.plot(
            np.arange(len(products)) - position,
            products[position],
            label=f"p = {position}",
            color=COLOURS[order % len(COLOURS)],
            **LAYERS[min(order, len(LAYERS) - 1)],
        )
    axes.set(xlabel="offset k (positions)", ylabel="dot product", title="row p with row p + k")
    axes.xaxis.set_major_formatter(SIGNED_TICKS)
    quiet_grid(axes)
    axes.legend(loc="upper right", handlelength=2.5)
