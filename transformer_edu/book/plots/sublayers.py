"""What stands around and inside a layer: the two places of the norm, and what a hidden layer does to its points."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from transformer_edu.book.plots.architecture import EDGES, FILLS, draw_arrow
from transformer_edu.book.plots.inputs import as_array, as_finite, as_labels
from transformer_edu.book.plots.style import COLOURS, INK, QUIET, WIDTH, book_style

PLACES = {
    "post-norm: norm(x + F(x))": [("F", "attention", 1.0)],
    "pre-norm: x + F(norm(x))": [("norm", "norm", 0.8), ("F", "attention", 1.3)],
}


@book_style
def plot_norm_placement() -> Figure:
    """A residual connection around a part F, with the norm behind the sum (post-norm) and in front of F (pre-norm).

    Vaswani et al. 2017, section 3.1; Xiong et al. 2020.
    """
    figure, panels = plt.subplots(1, 2, figsize=(WIDTH, 3.3), layout="constrained")
    for axes, (name, side_road) in zip(panels, PLACES.items(), strict=True):
        axes.set(xlim=(-1.2, 2.3), ylim=(-0.1, 3.1), aspect="equal", title=name)
        axes.set_axis_off()
        axes.plot([0, 0], [0.15, 2.75], color=INK, linewidth=6, zorder=1)
        axes.plot(0, 2.82, marker="^", markersize=13, color=INK)
        draw_arrow(axes, (0.0, 0.45), (1.3, 0.45), (1.3, 1.7), (0.15, 1.7))
        for text, kind, y in side_road:
            draw_part(axes, 1.3, y, text, kind)
        axes.plot(0, 1.7, "o", markersize=17, color="white", markeredgecolor=INK, zorder=3)
        axes.text(0, 1.7, "+", ha="center", va="center_baseline", zorder=4)
        axes.text(-0.2, 0.15, "x", ha="right", va="center_baseline")
        axes.text(-0.2, 1.05, "the stream", ha="right", color=QUIET)
    draw_part(panels[0], 0.0, 2.25, "norm", "norm")
    return figure


def draw_part(axes: Axes, x: float, y: float, text: str, kind: str) -> None:
    """A box around (x, y) in the colour of its kind."""
    box = FancyBboxPatch((x - 0.5, y - 0.16), 1.0, 0.32, boxstyle="round,pad=0")
    box.set(facecolor=FILLS[kind], edgecolor=EDGES[kind], linewidth=1.4, zorder=3)
    axes.add_patch(box)
    axes.text(x, y, text, ha="center", va="center_baseline", zorder=4)


@book_style
def plot_classes(
    panels: Mapping[str, tuple[Any, tuple[str, str]]],
    positive: Any,
    names: tuple[str, ...],
    boundary: Mapping[str, tuple[float | int, float | int, float | int]] | None = None,
) -> Figure:
    """One set of examples in several planes, circles for one class and crosses for the other.

    Args:
        panels: title -> ((n, 2) points, what the two axes are). Points that coincide share one place and one label.
        positive: (n,), True or 1 for the class that gets circles.
        names: n names, one for each example.
        boundary: title -> (a, b, c), the straight line a · across + b · up + c = 0, dashed.
    """
    labels, positives = as_labels("names", list(names), len(names)), as_array("positive", positive, 1) > 0
    planes = {title: as_finite(f"panels[{title!r}]", points, 2) for title, (points, _) in panels.items()}
    for title, spots in planes.items():
        if spots.shape != (len(labels), 2) or len(positives) != len(labels):
            raise ValueError(f"panels[{title!r}] must have shape ({len(labels)}, 2), got {spots.shape}")
    figure, grid = plt.subplots(1, len(panels), figsize=(WIDTH, 3.1), squeeze=False, layout="constrained")
    for axes, (title, spots) in zip(grid[0], planes.items(), strict=True):
        for kind, marker, colour in ((True, "o", COLOURS[0]), (False, "X", COLOURS[1])):
            axes.scatter(*spots[positives == kind].T, s=110, marker=marker, color=colour, zorder=3)
        for spot in np.unique(spots, axis=0):
            together = [label for label, own in zip(labels, spots, strict=True) if (own == spot).all()]
            above = 10 if len(together) == 1 else -20  # points of type
            axes.annotate(", ".join(together), tuple(spot), (0, above), textcoords="offset points", ha="center")
        across, up = panels[title][1]
        axes.set(title=title, xlabel=across, ylabel=up, xticks=(0, 1), yticks=(0, 1))
        axes.set(xlim=(-0.6, 1.6), ylim=(-0.4, 1.45))
        draw_boundary(axes, (boundary or {}).get(title))
    return figure


def draw_boundary(axes: Axes, line: tuple[float | int, float | int, float | int] | None) -> None:
    """The straight line a · across + b · up + c = 0 through the middle of the panel."""
    if line is not None:
        a, b, c = line
        ends = np.array([-0.3, 0.9])
        axes.plot(ends, -(a * ends + c) / b, "--", color=QUIET)
