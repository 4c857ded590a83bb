"""Curves, each with its own colour, dash and marker, and its name at its end."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from transformer_edu.book.plots.curves import (
    CURVE,
    as_runs,
    band_note,
    check_log,
    check_references,
    draw_references,
    draw_runs,
)
from transformer_edu.book.plots.inputs import Numbers, as_finite, as_mapping
from transformer_edu.book.plots.style import PLAIN_TICKS, TYPE_SIZE, WIDTH, book_style, quiet_grid

HEIGHT = 3.4
MOST_MARKERS = 40  # points on a curve up to which each gets a marker
SAMPLE = (1.035, 1.07, 1.105)  # where the sample beside a curve's name lies, in widths of the axes
FEW = 10  # points on a logarithmic axis up to which each gets its own tick
LONG = 18  # letters: longer names stand above the axes, shorter ones at the ends of their curves


@book_style
def plot_lines(
    x: Numbers,
    series: Mapping[str, Any],
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_log: bool = False,
    markers: bool = True,
    title: str | None = None,
    reference_lines: Mapping[str, float | int] | None = None,
) -> Figure:
    """Several series over the same x values, each named at its end; with several seeds the mean, and a band.

    Args:
        x: (n,), finite, above 0 when `x_log`.
        series: name -> (n,), or (seeds, n): the mean of the seeds, and a band from the lowest to the highest.
            NaN leaves a gap.
        x_label, y_label: what the axes measure, with units.
        x_log, y_log: logarithmic axes; values that are not above 0 are refused.
        markers: a marker on each point (left out above 40 points).
        title: a line above the axes.
        reference_lines: name -> height of a horizontal line to compare with, such as the accuracy of guessing.
    """
    xs = as_finite("x", x, 1)
    runs = {name: as_runs(f"series[{name!r}]", y, y_log) for name, y in as_mapping("series", series).items()}
    for name, ys in runs.items():
        if ys.shape[1] != len(xs):
            raise ValueError(f"series[{name!r}] must have as many values as x ({len(xs)}), got {ys.shape[1]}")
    check_log("x", xs, x_log)
    references = check_references(reference_lines, y_log)
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    for order, (name, ys) in enumerate(runs.items()):
        draw_runs(axes, xs, ys, name, order, markers and len(xs) <= MOST_MARKERS)
    finish_axes(axes, x_label, y_label, x_log, y_log)
    if x_log and len(xs) <= FEW:
        axes.set_xticks(np.unique(xs))
    draw_references(axes, references)
    name_curves(figure, axes, "\n".join(filter(None, [title, band_note(runs)])) or None)
    return figure


def finish_axes(axes: Axes, x_label: str, y_label: str, x_log: bool = False, y_log: bool = False) -> None:
    """Labels, scales and plain numbers on both axes."""
    axes.margins(x=0.02)
    axes.set(xscale="log" if x_log else "linear", yscale="log" if y_log else "linear", xlabel=x_label, ylabel=y_label)
    for axis, logarithmic in ((axes.xaxis, x_log), (axes.yaxis, y_log)):
        low, high = axis.get_view_interval()
        if logarithmic:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 200 else (1,)))
        else:
            axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(PLAIN_TICKS)
    quiet_grid(axes)


def name_curves(figure: Figure, axes: Axes, title: str | None = None) -> None:
    """Say which curve is which: at the ends of the curves, or above the axes where names are long."""
    named = [line for line in axes.lines if line.get_gid() == CURVE]
    longest = max(len(str(line.get_label())) for line in named)
    if longest > LONG:
        figure.suptitle(title or "", fontsize=TYPE_SIZE)
        columns = max(1, 75 // (longest + 9))
        axes.legend(named, [str(line.get_label()) for line in named], loc="lower left", bbox_to_anchor=(0, 1),
                    ncols=columns, handlelength=3, borderaxespad=0.3)  # fmt: skip
        return
    axes.set_title(title or "")
    figure.draw_without_rendering()
    gap = 17 / 72 / (axes.get_position().height * figure.get_figheight())  # one line of type, in heights of the axes
    for line, height in zip(named, spread([end_of(line, axes) for line in named], gap), strict=True):
        sample = axes.plot(SAMPLE, [height] * 3, transform=axes.transAxes)[0]
        sample.update_from(line)
        sample.set(transform=axes.transAxes, label="_sample", gid=None, clip_on=False, markevery=[1])
        axes.text(
            SAMPLE[-1] + 0.02,
            height,
            str(line.get_label()),
            color=line.get_color(),
            va="center",
            transform=axes.transAxes,
        )


def end_of(line: Line2D, axes: Axes) -> float:
    """Height of a curve's last finite point, from 0 at the foot of the axes to 1 at their top."""
    points = np.column_stack([np.asarray(data, dtype=np.float64) for data in line.get_data()])
    finite = points[np.isfinite(points).all(axis=1)]
    if not len(finite):
        return 0.0
    return float(axes.transAxes.inverted().transform(axes.transData.transform(finite[-1]))[1])


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Heights at least `gap` apart between 0 and 1, in the order of the wanted ones and centred on them.

    >>> [round(height, 2) for height in spread([0.5, 0.5, 1.0, 1.0], 0.2)]
    [0.4, 0.6, 0.8, 1.0]
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        groups.append([index])
        while len(groups) > 1 and top(groups[-2], wanted, gap) + gap > bottom(groups[-1], wanted, gap):
            upper = groups.pop()
            groups[-1] += upper
    heights = [0.0] * len(wanted)
    for group in groups:
        for place, index in enumerate(group):
            heights[index] = bottom(group, wanted, gap) + place * gap
    return heights


def bottom(group: list[int], wanted: Sequence[float], gap: float) -> float:
    """Height of the lowest name of a group that is centred on its wanted heights, inside the axes."""
    size = gap * (len(group) - 1)
    centred = sum(wanted[index] for index in group) / len(group) - size / 2
    return min(max(centred, 0.0), 1.0 - size)


def top(group: list[int], wanted: Sequence[float], gap: float) -> float:
    """Height of the highest name of a group."""
    return bottom(group, wanted, gap) + gap * (len(group) - 1)
