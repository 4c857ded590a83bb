"""Numbers in groups: feature by feature, sentence by sentence."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from transformer_edu.plots.inputs import as_finite, as_labels, as_mapping
from transformer_edu.plots.style import COLOURS, INK, PLAIN_TICKS, QUIET, TYPE_SIZE, WIDTH, book_style, quiet_grid
from transformer_edu.support.validation import check_boolean

MAX_COLUMNS = 3
ROW = 0.34  # inches for each group


@book_style
def plot_groups(
    samples: Mapping[str, Tensor], groups: Sequence[str], x_label: str, group_label: str = "", share_x: bool = False
) -> Figure:
    """Every number of every group as a dot, with the group's mean and the range mean ± std (divided by n) over it.

    For one tensor before and after a norm, grouped once by feature and once by sentence:
    `plot_groups({"before": x.reshape(-1, 4).T, "after": y.reshape(-1, 4).T}, features, "value", "feature")`.

    Args:
        samples: name -> (groups, n), a panel each.
        groups: one name for each row, the same in all panels; the first is on top.
        x_label: what the numbers are, with units.
        group_label: what a group is.
        share_x: the same scale in all panels, so that widths can be compared between them.
    """
    check_boolean("share_x", share_x)
    data = {name: as_finite(f"samples[{name!r}]", values, 2) for name, values in as_mapping("samples", samples).items()}
    first = next(iter(data.values()))
    labels = as_labels("groups", groups, len(first))
    for name, values in data.items():
        if len(values) != len(labels):
            raise ValueError(f"samples[{name!r}] must have {len(labels)} rows, one for each group, got {len(values)}")
    columns = min(len(data), 2 if len(data) in (2, 4) else MAX_COLUMNS)
    lines = -(-len(data) // columns)
    size = (WIDTH, lines * (ROW * len(labels) + 0.9) + 0.3)
    figure, grid = plt.subplots(lines, columns, figsize=size, sharex=share_x, sharey=True, squeeze=False,
                                layout="constrained")  # fmt: skip
    for axes, (name, values) in zip(grid.flat, data.items(), strict=False):
        draw_groups(axes, values, labels)
        axes.set_title(name)
    for axes in grid.flat[len(data) :]:
        axes.set_axis_off()
    figure.supxlabel(f"{x_label}    ○ mean   ━ mean ± std", fontsize=TYPE_SIZE)
    figure.supylabel(group_label, fontsize=TYPE_SIZE)
    return figure


def draw_groups(axes: Axes, values: np.ndarray, labels: Sequence[str]) -> None:
    """One row for each group: its numbers, their range mean ± std, their mean."""
    for row, numbers in enumerate(values):
        axes.plot(numbers, np.full(len(numbers), row), "|", color=COLOURS[0], alpha=0.45, markersize=9)
        mean, std = numbers.mean(), numbers.std()
        axes.plot([mean - std, mean + std], [row, row], color=INK, linewidth=3, solid_capstyle="butt")
        axes.plot(mean, row, "o", color="white", markeredgecolor=INK, markeredgewidth=2, markersize=7)
    axes.axvline(0, color=QUIET, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(PLAIN_TICKS)
    quiet_grid(axes, "x")
