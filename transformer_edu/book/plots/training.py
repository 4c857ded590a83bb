"""What a training run writes down: losses and learning rates by step."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from transformer_edu.book.plots.curves import (
    as_runs,
    band_note,
    check_references,
    draw_curve,
    draw_references,
    draw_runs,
)
from transformer_edu.book.plots.inputs import Numbers, as_finite, as_mapping
from transformer_edu.book.plots.lines import HEIGHT, finish_axes, name_curves
from transformer_edu.book.plots.style import COLOURS, MARKERS, PLAIN_TICKS, WIDTH, book_style, quiet_grid


@book_style
def plot_training(
    history: Mapping[str, Any],
    x_label: str = "step",
    y_label: str = "loss in nats per token",
    reference_lines: Mapping[str, float | int] | None = None,
    steps: Numbers | None = None,
    y_log: bool = False,
) -> Figure:
    """Training curves; with several seeds the mean, and a band from the lowest seed to the highest.

    Args:
        history: name -> (steps,), or (seeds, steps) for several runs.
        x_label, y_label: what the axes measure, with units.
        reference_lines: name -> height of a horizontal line to compare with, such as the loss of a uniform guess.
        steps: where the values were taken; 1, 2, 3, … when left out.
        y_log: logarithmic losses.
    """
    runs = {
        name: as_runs(f"history[{name!r}]", values, y_log) for name, values in as_mapping("history", history).items()
    }
    references = check_references(reference_lines, y_log)
    places = {name: steps_of(steps, name, seeds.shape[1]) for name, seeds in runs.items()}
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    for order, (name, seeds) in enumerate(runs.items()):
        draw_runs(axes, places[name], seeds, name, order, markers=seeds.shape[1] <= 25)
    finish_axes(axes, x_label, y_label, y_log=y_log)
    draw_references(axes, references)
    name_curves(figure, axes, band_note(runs))
    return figure


@book_style
def plot_measures(steps: Numbers, measures: Mapping[str, Numbers], x_label: str = "step") -> Figure:
    """What one run was measured by, side by side: a panel for each measure, each on a scale of its own.

    Args:
        steps: (n,), where the measures were taken.
        measures: what is measured, with its unit -> (n,).
        x_label: what the steps are.
    """
    xs = as_finite("steps", steps, 1)
    rows = {name: as_finite(f"measures[{name!r}]", y, 1) for name, y in as_mapping("measures", measures).items()}
    for name, row in rows.items():
        if len(row) != len(xs):
            raise ValueError(f"measures[{name!r}] must have as many values as steps ({len(xs)}), got {len(row)}")
    figure, panels = plt.subplots(1, len(rows), figsize=(WIDTH, HEIGHT), squeeze=False, layout="constrained")
    for axes, (name, row) in zip(panels[0], rows.items(), strict=True):
        axes.plot(xs, row, marker=MARKERS[0], color=COLOURS[0])
        axes.set(xlabel=x_label, ylabel=name)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
        axes.xaxis.set_major_formatter(PLAIN_TICKS)
        quiet_grid(axes)
    return figure


@book_style
def plot_schedule(schedules: Mapping[str, Numbers]) -> Figure:
    """Learning rates by step, counted from 1 as in the paper's equation 3.

    Args:
        schedules: name -> (steps,), the learning rate at steps 1, 2, 3, …
    """
    rates = {name: as_finite(f"schedules[{name!r}]", ys, 1) for name, ys in as_mapping("schedules", schedules).items()}
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    for order, (name, ys) in enumerate(rates.items()):
        draw_curve(axes, np.arange(1, len(ys) + 1), ys, name, order, markers=False)
    finish_axes(axes, "step", "learning rate")
    axes.set_ylim(bottom=0)
    name_curves(figure, axes)
    return figure


def steps_of(steps: Numbers | None, name: str, count: int) -> np.ndarray:
    """Where the values of one curve stand on the x axis."""
    if steps is None:
        return np.arange(1, count + 1)
    places = as_finite("steps", steps, 1)
    if len(places) != count:
        raise ValueError(f"steps must have as many values as history[{name!r}] ({count}), got {len(places)}")
    return places
