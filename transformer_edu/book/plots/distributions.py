"""How numbers are spread, before and after."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure
from torch import Tensor

from transformer_edu.book.plots.inputs import as_finite, as_mapping
from transformer_edu.book.plots.style import COLOURS, INK, PLAIN_TICKS, TYPE_SIZE, WIDTH, book_style, number
from transformer_edu.support.validation import check_positive_integer

MAX_COLUMNS = 3
LONG = 22  # letters: longer names need wider panels


@book_style
def plot_distributions(samples: Mapping[str, Tensor], x_label: str, bins: int = 60) -> Figure:
    """Histograms on one scale, a panel each, with mean and standard deviation (divided by n) printed.

    Args:
        samples: name -> tensor of any shape; all of its entries are counted.
        x_label: what the numbers are, with units.
        bins: intervals between the smallest and the largest number of all samples.
    """
    check_positive_integer("bins", bins)
    data = {name: flatten(f"samples[{name!r}]", values) for name, values in as_mapping("samples", samples).items()}
    everything = np.concatenate(list(data.values()))
    low, high = float(everything.min()), float(everything.max())
    edges = np.linspace(low, high, bins + 1) if high > low else np.linspace(low - 0.5, high + 0.5, bins + 1)
    narrow = len(data) not in (2, 4) and max(map(len, data)) <= LONG
    columns = min(len(data), MAX_COLUMNS if narrow else 2)
    lines = -(-len(data) // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(WIDTH, 2.3 * lines + 0.4), sharex=True, squeeze=False, layout="constrained"
    )
    for axes, (name, values) in zip(grid.flat, data.items(), strict=False):
        sns.histplot(x=values, bins=edges, stat="density", element="step", color=COLOURS[0], alpha=0.35, ax=axes)
        axes.axvline(values.mean(), color=INK, linestyle="--", linewidth=1.5)
        axes.set_title(f"{name}\nmean {number(values.mean())}, std {number(values.std())}")
        axes.set(xlabel="", ylabel="")
        axes.yaxis.set_major_formatter(PLAIN_TICKS)
        axes.xaxis.set_major_formatter(PLAIN_TICKS)
    for axes in grid.flat[len(data) :]:
        axes.set_axis_off()
    figure.supxlabel(x_label, fontsize=TYPE_SIZE)
    figure.supylabel("density", fontsize=TYPE_SIZE)
    return figure


def flatten(name: str, values: Any) -> np.ndarray:
    """All entries of a tensor or array of any shape, or of a flat sequence."""
    return as_finite(name, values.reshape(-1) if isinstance(values, Tensor | np.ndarray) else values, 1)
