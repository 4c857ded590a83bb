"""Attention weights as heatmaps: rows look (queries), columns are looked at (keys)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from torch import Tensor

from transformer_edu.book.plots.cells import CHARACTER, draw_cells, label_cells, print_numbers
from transformer_edu.book.plots.inputs import as_labels, as_mapping, as_weights
from transformer_edu.book.plots.style import MAGNITUDE, TYPE_SIZE, WIDTH, book_style

KEYS = "key (looked at)"
QUERIES = "query (who looks)"
PRINTABLE = 0.42  # inches: the smallest cell that has room for a number
SMALLEST_CELL = 0.14  # inches: the smallest cell whose turned token is still readable
SIDES = 1.6  # inches taken by axis labels and the colour bar
MAX_COLUMNS = 4


class Panel(NamedTuple):
    """One map of a grid."""

    layer: str
    title: str
    weights: np.ndarray


EMPTY = Panel("", "", np.empty((0, 0)))  # a place that stays white at the end of a row


@book_style
def plot_attention(weights: Tensor, queries: Sequence[str], keys: Sequence[str], title: str | None = None) -> Figure:
    """One map of attention weights, with its numbers where they fit. Colours run from 0 to 1 in every such figure.

    Args:
        weights: (q_len, k_len), each in [0, 1].
        queries, keys: one token for each row and each column.
        title: a line above the map.
    """
    values = as_weights("weights", weights, 2)
    rows, columns = as_labels("queries", queries, values.shape[0]), as_labels("keys", keys, values.shape[1])
    names = CHARACTER * max(map(len, rows))
    cell = min(0.62, max(0.16, (WIDTH - 1.6 - names) / len(columns)))
    below = CHARACTER * max(map(len, columns))
    size = (cell * len(columns) + names + 1.6, cell * len(rows) + min(below, 2.5) + 0.9)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    mesh = draw_map(axes, values, rows, columns, cell)
    if cell >= PRINTABLE:
        print_numbers(axes, mesh, values, decimals=2, signed=False)
    axes.set(xlabel=KEYS, ylabel=QUERIES)
    if title:
        axes.set_title(title)
    add_colour_bar(figure, mesh, [axes])
    return figure


@book_style
def plot_attention_heads(
    maps: Mapping[str, Tensor], queries: Sequence[str], keys: Sequence[str], title: str | None = None
) -> Figure:
    """Every head of some layers: a row for each layer, a column for each head (four to a row), one colour scale.

    Args:
        maps: layer name -> (heads, q_len, k_len), such as `maps["encoder.0.self"][0]` from `record_attention`.
        queries, keys: one token for each row and each column of every map.
        title: a line above the grid.
    """
    layers = {name: as_weights(f"maps[{name!r}]", weights, 3) for name, weights in as_mapping("maps", maps).items()}
    counts = {len(heads) for heads in layers.values()}
    if len(counts) > 1:
        raise ValueError(f"maps must have the same number of heads in every layer, got {sorted(counts)}")
    columns = columns_for(counts.pop(), queries, keys)
    panels: list[Panel] = []
    for name, heads in layers.items():
        panels += [Panel(name, f"head {index}", head) for index, head in enumerate(heads, start=1)]
        panels += [EMPTY] * (-len(heads) % columns)
    return draw_grid(panels, columns, queries, keys, title)


def columns_for(count: int, queries: Sequence[str], keys: Sequence[str]) -> int:
    """How many of `count` maps stand side by side: rows of about equal length, tokens large enough to read."""
    token_names = CHARACTER * max(map(len, queries), default=0)
    most = int((WIDTH - token_names - SIDES) / (SMALLEST_CELL * max(len(keys), 1) + 0.1))
    rows = -(-count // min(max(most, 1), MAX_COLUMNS))
    return -(-count // rows)


def draw_grid(
    panels: Sequence[Panel], columns: int, queries: Sequence[str], keys: Sequence[str], title: str | None
) -> Figure:
    """Panels from left to right and top to bottom; tokens and layer names only at the outer edges."""
    for panel in panels:
        if panel is not EMPTY:
            where = f"{panel.layer} {panel.title}".strip()
            rows = as_labels(f"queries (for {where})", queries, panel.weights.shape[0])
            names = as_labels(f"keys (for {where})", keys, panel.weights.shape[1])
    figure, grid = make_grid(len(panels), columns, rows, names, bool(title))
    drawn = []
    for index, axes in enumerate(grid):
        if index >= len(panels) or panels[index] is EMPTY:
            axes.set_axis_off()
            continue
        mesh = draw_map(axes, panels[index].weights, rows, names, cell=0.0)
        axes.set_title(panels[index].title)
        first, below = index % columns == 0, panels[index + columns : index + columns + 1]
        axes.tick_params(labelleft=first, labelbottom=not below or below[0] is EMPTY)
        axes.set_ylabel(panels[index].layer if first else "", fontweight="bold")
        drawn.append(axes)
    figure.supxlabel(KEYS, fontsize=TYPE_SIZE)
    figure.supylabel(QUERIES, fontsize=TYPE_SIZE)
    figure.suptitle(title or "", fontsize=TYPE_SIZE)
    add_colour_bar(figure, mesh, drawn)
    return figure


def make_grid(count: int, columns: int, rows: list[str], names: list[str], titled: bool) -> tuple[Figure, list[Axes]]:
    """A figure of the book's width with room for `count` maps and their tokens."""
    lines = -(-count // columns)
    room = (WIDTH - CHARACTER * max(map(len, rows)) - SIDES) / columns - 0.1
    width = min(room, max(2.4, 0.16 * len(names)))  # a few tokens need no wide map
    height = lines * (width * len(rows) / len(names) + 0.35) + CHARACTER * max(map(len, names)) + 0.5 + 0.3 * titled
    figure, grid = plt.subplots(lines, columns, figsize=(WIDTH, height), squeeze=False, layout="constrained")
    return figure, list(grid.flat)


def draw_map(axes: Axes, values: np.ndarray, rows: list[str], columns: list[str], cell: float) -> QuadMesh:
    """One map on the scale 0 to 1 with its tokens."""
    mesh = draw_cells(axes, values, plt.get_cmap(MAGNITUDE), Normalize(0, 1))
    label_cells(axes, rows, columns, cell)
    return mesh


def add_colour_bar(figure: Figure, mesh: QuadMesh, axes: list[Axes]) -> None:
    """The scale that all maps of a figure share."""
    bar = figure.colorbar(mesh, ax=axes, label="attention weight", shrink=0.9, aspect=25, pad=0.02)
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"])
    bar.outline.set_visible(False)
