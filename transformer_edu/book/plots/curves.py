"""One curve, or one for each seed: the mean as a line, and a band from the lowest seed to the highest."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from transformer_edu.book.plots.inputs import as_array, as_mapping
from transformer_edu.book.plots.style import COLOURS, DASHES, MARKERS, QUIET
from transformer_edu.support.validation import check_number

CURVE = "curve"  # marks the lines that are data, apart from references and samples
LETTER, LINE = 0.014, 0.08  # of a reference's name, as shares of the axes' width and height


def check_log(name: str, values: np.ndarray, logarithmic: bool) -> None:
    """A logarithmic axis has no place for zero."""
    if logarithmic and (values <= 0).any():
        raise ValueError(f"{name} must be above 0 on a logarithmic axis, got {np.nanmin(values):.4g}")


def as_runs(name: str, values: Any, y_log: bool) -> np.ndarray:
    """(seeds, steps) from one run (steps,) or several (seeds, steps)."""
    nested = getattr(values, "ndim", None) == 2 or (isinstance(values, Sequence) and len(values) and np.ndim(values[0]))
    runs = np.atleast_2d(as_array(name, values, 2 if nested else 1))
    check_log(name, runs, y_log)
    return runs


def draw_curve(axes: Axes, xs: np.ndarray, ys: np.ndarray, name: str, order: int, markers: bool) -> None:
    """One curve in the style of its place in the order."""
    axes.plot(
        xs,
        ys,
        label=name,
        gid=CURVE,
        color=COLOURS[order % len(COLOURS)],
        linestyle=DASHES[order % len(DASHES)],
        marker=MARKERS[order % len(MARKERS)] if markers else "",
        markersize=6,
    )


def draw_runs(axes: Axes, xs: np.ndarray, runs: np.ndarray, name: str, order: int, markers: bool) -> None:
    """The mean of (seeds, n) as a curve; with several seeds a band behind it."""
    draw_curve(axes, xs, runs.mean(axis=0), name, order, markers)
    if len(runs) > 1:
        axes.fill_between(xs, runs.min(axis=0), runs.max(axis=0), color=COLOURS[order % len(COLOURS)], alpha=0.2)


def band_note(runs: Mapping[str, np.ndarray]) -> str | None:
    """What line and band mean, where there is a band."""
    seeds = max(len(rows) for rows in runs.values())
    return f"line: mean of {seeds} seeds; band: lowest to highest" if seeds > 1 else None


def check_references(values: Mapping[str, float | int] | None, y_log: bool) -> Mapping[str, float | int]:
    """Named heights that the axis can show."""
    references = as_mapping("reference_lines", values) if values is not None else {}
    for name, height in references.items():
        check_number(f"reference_lines[{name!r}]", height, above=0.0 if y_log else -np.inf)
    return references


def draw_references(axes: Axes, references: Mapping[str, float | int]) -> None:
    """Horizontal dotted lines with their names beside them, where no curve runs through the name."""
    curves = [line for line in axes.lines if line.get_gid() == CURVE]
    for height in references.values():
        axes.axhline(height, color=QUIET, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1)
    axes.autoscale_view()  # now, for where the names find room depends on it
    for name, height in references.items():
        end, above = place_of_name(axes, height, len(name), curves)
        away = (-2 if end else 2, 3 if above else -3)
        ha, va = "right" if end else "left", "bottom" if above else "top"
        where = axes.get_yaxis_transform()
        axes.annotate(name, (end, height), away, where, "offset points", ha=ha, va=va, color=QUIET)


def place_of_name(axes: Axes, height: float, letters: int, curves: Sequence[Line2D]) -> tuple[int, bool]:
    """At which end of a line its name stands (1: right), and whether above it: the first place that is free."""
    to_axes = (axes.transData + axes.transAxes.inverted()).transform
    line = to_axes((1, height))[1]
    runs = [to_axes(curve.get_xydata()).T for curve in curves]
    wide, high = LETTER * letters, LINE
    for above in (True, False):
        low = line if above else line - high
        for end in (1, 0):
            xs = np.linspace(end - wide if end else 0, end or wide, 50)
            ys = np.concatenate([np.interp(xs, *run, left=np.nan, right=np.nan) for run in runs] or [np.zeros(0)])  # type: ignore[call-overload]
            if low >= 0 and not ((ys > low) & (ys < low + high)).any():
                return end, above
    return 1, True
