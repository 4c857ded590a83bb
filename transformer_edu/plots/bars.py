"""Bars with their numbers printed."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from transformer_edu.plots.cells import CHARACTER
from transformer_edu.plots.inputs import as_labels, as_mapping, as_weights
from transformer_edu.plots.style import (
    COLOURS,
    INK,
    PLAIN_TICKS,
    QUIET,
    TYPE_SIZE,
    WIDTH,
    book_style,
    number,
    quiet_grid,
)
from transformer_edu.support.validation import check_number, check_positive_integer

MAX_COLUMNS = 3
SMALLEST_BAR = 0.18  # inches: room that a number needs at least


@book_style
def plot_bars(
    values: Mapping[str, float | int], x_label: str, decimals: int = 2, errors: Mapping[str, float | int] | None = None
) -> Figure:
    """Horizontal bars, first on top, each with its number.

    Args:
        values: name -> length of its bar.
        x_label: what the bars measure, with units.
        decimals: digits after the point in the printed numbers.
        errors: name -> half the width of its error bar, printed as ±; names left out have none.
    """
    for name, value in as_mapping("values", values).items():
        check_number(f"values[{name!r}]", value, above=-np.inf)
    check_positive_integer("decimals", decimals, minimum=0)
    spreads = check_errors(values, errors)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.42 * len(values) + 0.75), layout="constrained")
    names = as_labels("values", list(values), len(values))
    places = np.arange(len(values))
    axes.barh(places, list(values.values()), height=0.62, color=COLOURS[0])
    for place, (name, value) in enumerate(values.items()):
        print_value(axes, place, value, spreads.get(name), decimals)
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel(x_label)
    axes.margins(x=0.2)
    axes.axvline(0, color=QUIET, linewidth=1)
    axes.spines.left.set_visible(False)
    axes.xaxis.set_major_formatter(PLAIN_TICKS)
    return figure


def print_value(axes: Axes, place: int, value: float | int, error: float | int | None, decimals: int) -> None:
    """The number of one bar just beyond its end, and its error bar when it has one."""
    text = number(value, decimals)
    if error is not None:
        axes.errorbar(value, place, xerr=error, color=INK, capsize=4, linewidth=1.5)
        text += f" ± {number(error, decimals)}"
    side = -1 if value < 0 else 1
    axes.annotate(
        text,
        (value + side * (error or 0), place),
        (6 * side, 0),
        "data",
        "offset points",
        ha="right" if value < 0 else "left",
        va="center",
    )


def check_errors(
    values: Mapping[str, float | int], errors: Mapping[str, float | int] | None
) -> Mapping[str, float | int]:
    """Errors that belong to a value and are not negative."""
    if errors is None:
        return {}
    for name, error in as_mapping("errors", errors).items():
        if name not in values:
            raise ValueError(f"errors must use the names of values {list(values)}, got {name!r}")
        check_number(f"errors[{name!r}]", error, above=-np.inf)
        if error < 0:
            raise ValueError(f"errors[{name!r}] must not be negative, got {error}")
    return errors


@book_style
def plot_weight_rows(weights: Mapping[str, Tensor], labels: Sequence[str]) -> Figure:
    """Several rows of softmax weights side by side, on one scale from 0 to 1.

    Args:
        weights: name -> (k,), each in [0, 1].
        labels: one label for each of the k weights.
    """
    rows = {name: as_weights(f"weights[{name!r}]", row, 1) for name, row in as_mapping("weights", weights).items()}
    for name, row in rows.items():
        names = as_labels(f"labels (for weights[{name!r}])", labels, len(row))
    columns = min(len(rows), MAX_COLUMNS)
    lines = -(-len(rows) // columns)
    room = (WIDTH - 0.8) / columns / len(names)  # inches for one bar
    turned = max(map(len, names)) * CHARACTER > room - 0.04
    level = room >= 0.38  # numbers stand level above their bars, or turned
    height = lines * (1.9 if level else 2.1) + 0.3 + (CHARACTER * max(map(len, names)) if turned else 0)
    figure, grid = plt.subplots(
        lines, columns, figsize=(WIDTH, height), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axes, (name, row) in zip(grid.flat, rows.items(), strict=False):
        bars = axes.bar(range(len(row)), row, color=COLOURS[0], width=0.75)
        if room >= SMALLEST_BAR:
            axes.bar_label(bars, [number(value) for value in row], padding=3, fontsize=TYPE_SIZE - 1,
                           rotation=0 if level else 90)  # fmt: skip
        axes.set_title(name)
        axes.set(ylim=(0, 1.16 if level else 1.35), yticks=(0, 0.5, 1))
        axes.set_xticks(range(len(names)), names, rotation=90 if turned else 0)
        axes.tick_params(axis="x", length=0)
        axes.yaxis.set_major_formatter(PLAIN_TICKS)
        quiet_grid(axes)
    for axes in grid.flat[len(rows) :]:
        axes.set_axis_off()
    figure.supylabel("weight", fontsize=TYPE_SIZE)
    return figure
