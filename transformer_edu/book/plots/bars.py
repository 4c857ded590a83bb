"""Bars with their numbers printed."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_edu.book.plots.inputs import as_labels, as_mapping
from transformer_edu.book.plots.style import (
    COLOURS,
    INK,
    PLAIN_TICKS,
    QUIET,
    WIDTH,
    book_style,
    number,
)
from transformer_edu.support.validation import check_number, check_positive_integer


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
