"""Single vectors: their entries as bars, step by step, and two features as a point that moves in a plane."""

import math
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from transformer_edu.book.plots.inputs import as_finite, as_labels, as_mapping
from transformer_edu.book.plots.style import COLOURS, INK, PLAIN_TICKS, QUIET, TYPE_SIZE, WIDTH, book_style, number

COLUMNS = 2  # vectors side by side: more would let the numbers touch


@book_style
def plot_vectors(vectors: Mapping[str, Tensor], x_label: str = "entry of the vector", decimals: int = 2) -> Figure:
    """A panel for each vector, a bar for each entry with its number, all on one scale.

    Args:
        vectors: name -> (d,), the same d for all, such as one token before and after each step of a norm.
        x_label: what the bars are; they are counted from 1.
        decimals: digits after the point in the printed numbers.
    """
    rows = {name: as_finite(f"vectors[{name!r}]", vector, 1) for name, vector in as_mapping("vectors", vectors).items()}
    if len({len(row) for row in rows.values()}) > 1:
        raise ValueError(f"vectors must have the same length, got {[len(row) for row in rows.values()]}")
    lines = math.ceil(len(rows) / COLUMNS)
    figure, grid = plt.subplots(
        *(lines, min(len(rows), COLUMNS)), figsize=(WIDTH, 0.6 + 1.6 * lines), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, (name, row) in zip(grid.flat, rows.items(), strict=False):
        draw_entries(axes, name, row, decimals)
    for axes in grid.flat[len(rows) :]:
        axes.set_axis_off()
    figure.supxlabel(x_label, fontsize=TYPE_SIZE)
    return figure


def draw_entries(axes: Axes, name: str, row: np.ndarray, decimals: int) -> None:
    """One vector: a bar for each entry, counted from 1, with its number at its end."""
    places = range(1, len(row) + 1)
    bars = axes.bar(places, row, width=0.7, color=COLOURS[0])
    axes.bar_label(bars, [number(entry, decimals) for entry in row], padding=2, fontsize=TYPE_SIZE - 1)
    axes.axhline(0, color=QUIET, linewidth=1)
    axes.set_title(name)
    axes.set_xticks(places)
    axes.yaxis.set_major_formatter(PLAIN_TICKS)
    axes.tick_params(left=False, bottom=False)
    axes.margins(y=0.2)


@book_style
def plot_moves(
    points: Mapping[str, Any],
    start: tuple[str, Any],
    ends: Mapping[str, Any],
    labels: tuple[str, str],
) -> Figure:
    """A plane of two features: points that stay, one that moves, and an arrow to each place where it arrives.

    Args:
        points: name -> (2,), what stays where it is.
        start: name and (2,), where the moving point comes from, drawn as an open circle.
        ends: name -> (2,), where it arrives; an arrow each.
        labels: what the two features are, across and up.
    """
    across, up = as_labels("labels", labels, 2)
    stay = {name: pair(f"points[{name!r}]", point) for name, point in as_mapping("points", points).items()}
    arrive = {name: pair(f"ends[{name!r}]", end) for name, end in as_mapping("ends", ends).items()}
    origin = pair("start", start[1])
    figure, axes = plt.subplots(figsize=(WIDTH, 3.9), layout="constrained")
    for name, point in stay.items():
        axes.plot(*point, "o", color=QUIET)
        write(axes, name, point, (8, 7), INK)
    for (name, end), colour in zip(arrive.items(), COLOURS, strict=False):
        arrow = {"arrowstyle": "->", "color": colour, "lw": 2, "shrinkA": 7, "shrinkB": 5}
        axes.annotate("", tuple(end), tuple(origin), arrowprops=arrow)
        axes.plot(*end, "o", color=colour)
        write(axes, name, end, (9, 3), colour)
    axes.plot(*origin, "o", color=INK, markerfacecolor="white", markersize=10)
    write(axes, start[0], origin, (11, 0), INK)
    everything = np.stack([*stay.values(), *arrive.values(), origin])
    axes.set(xlabel=across, ylabel=up, xlim=room(everything[:, 0], 0.25), ylim=room(everything[:, 1], 0.12))
    return figure


def pair(name: str, values: Any) -> np.ndarray:
    """Two finite numbers."""
    found = as_finite(name, values, 1)
    if found.shape != (2,):
        raise ValueError(f"{name} must have shape (2,), got {found.shape}")
    return found


def write(axes: Axes, text: str, point: np.ndarray, offset: tuple[int, int], colour: str) -> None:
    """A name beside its point; the offset is in points of type."""
    axes.annotate(text, tuple(point), offset, textcoords="offset points", color=colour)


def room(values: np.ndarray, above: float) -> tuple[float, float]:
    """Limits that hold all values, with a little air below and a share of their range above, for the names."""
    low, high = float(values.min()), float(values.max())
    return low - 0.05 * (high - low), high + above * (high - low)
