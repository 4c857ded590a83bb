"""Where a model's parameters are: stacked bars over a table of exact counts."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from transformer_edu.plots.inputs import as_labels, as_mapping
from transformer_edu.plots.style import COLOURS, QUIET, WIDTH, book_style, ink_on
from transformer_edu.support.validation import check_positive_integer

LINE = 0.27  # inches: one line of the table
READABLE = 0.022  # share of the longest bar from which a segment has room for its number


@book_style
def plot_parameter_counts(groups: Mapping[str, Mapping[str, int]]) -> Figure:
    """One stacked bar for each model; every part has a number, found again in the table of exact counts below.

    Args:
        groups: model (or bar) name -> part name -> number of parameters, parts in the order to stack.
    """
    bars = {name: as_mapping(f"groups[{name!r}]", parts) for name, parts in as_mapping("groups", groups).items()}
    for name, counts in bars.items():
        for part, count in counts.items():
            check_positive_integer(f"groups[{name!r}][{part!r}]", count, minimum=0)
    parts = list(dict.fromkeys(part for counts in bars.values() for part in counts))
    heights = (0.5 * len(bars) + 0.6, LINE * (len(parts) + 2))
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(WIDTH, sum(heights) + 0.1), height_ratios=heights, layout="constrained"
    )
    draw_bars(above, bars, parts)
    draw_counts(below, bars, parts)
    return figure


def draw_bars(axes: Axes, bars: Mapping[str, Mapping[str, int]], parts: list[str]) -> None:
    """The stacked bars, each segment with the number of its part where there is room."""
    longest = max(sum(counts.values()) for counts in bars.values()) or 1
    for row, counts in enumerate(bars.values()):
        start = 0
        for part, count in counts.items():
            order = parts.index(part)
            colour = COLOURS[order % len(COLOURS)]
            axes.barh(row, count, left=start, height=0.7, color=colour, edgecolor="white", linewidth=1.2)
            if count / longest >= READABLE:
                axes.text(start + count / 2, row, str(order + 1), ha="center", va="center", color=ink_on(colour))
            start += count
    axes.set_yticks(range(len(bars)), as_labels("groups", list(bars), len(bars)))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    unit, name = (1e6, "parameters (millions)") if longest >= 1e6 else (1, "parameters")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:,.10g}"))
    axes.set_xlabel(name)


def draw_counts(axes: Axes, bars: Mapping[str, Mapping[str, int]], parts: list[str]) -> None:
    """The exact counts: a line for each part, a column for each bar, the totals last."""
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(parts) + 1.5, -0.5))
    step = max(0.2, 0.018 * max(map(len, bars)) + 0.03)
    ends = [1 - step * (len(bars) - 1 - column) for column in range(len(bars))] if len(bars) > 1 else [0.7]
    for end, name in zip(ends, bars, strict=True):
        axes.text(end, 0, name, ha="right", va="center", fontweight="bold")
    for line, part in enumerate(parts, start=1):
        colour = COLOURS[(line - 1) % len(COLOURS)]
        axes.add_patch(Rectangle((0, line - 0.4), 0.035, 0.8, color=colour))
        axes.text(0.0175, line, str(line), ha="center", va="center", color=ink_on(colour))
        axes.text(0.05, line, part, va="center")
        for end, counts in zip(ends, bars.values(), strict=True):
            axes.text(end, line, f"{counts[part]:,}" if part in counts else "none", ha="right", va="center")
    axes.plot([0, ends[-1]], [len(parts) + 0.5] * 2, color=QUIET, linewidth=1)
    axes.text(0.05, len(parts) + 1, "total", va="center", fontweight="bold")
    for end, counts in zip(ends, bars.values(), strict=True):
        axes.text(end, len(parts) + 1, f"{sum(counts.values()):,}", ha="right", va="center", fontweight="bold")
