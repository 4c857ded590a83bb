"""Each (sin, cos) pair of the positional table as a clock hand: one more position, one more turn by θ.

Across is column 2i (the sine), up is column 2i + 1 (the cosine), so position 0 points to twelve o'clock and the
hand turns clockwise. In these axes that is a turn by -kθ in the mathematical, counter-clockwise sense.
"""

from numbers import Integral

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from transformer_edu.book.plots.inputs import as_finite
from transformer_edu.book.plots.style import COLOURS, FAINT, GRID, QUIET, SIGNED_TICKS, book_style, number
from transformer_edu.support.validation import check_number, check_positive_integer


@book_style
def plot_rotation(before: Tensor, after: Tensor, angle: float | int, pair: int, offset: int) -> Figure:
    """One pair of the table at a position and `offset` positions later: two hands of a clock and the turn between.

    Args:
        before, after: (2,), the pair (sin, cos) at positions p and p + offset.
        angle: offset times θ_i in radians, clockwise from `before` to `after`. A picture that does not fit its
            numbers is refused: turning `before` clockwise by `angle` must give `after`.
        pair: the pair's number i.
        offset: k, the number of positions between the two.
    """
    start, end = as_finite("before", before, 1), as_finite("after", after, 1)
    for name, vector in (("before", start), ("after", end)):
        if vector.shape != (2,):
            raise ValueError(f"{name} must have shape (2,), got {vector.shape}")
    check_number("angle", angle, above=-np.inf)
    check_positive_integer("pair", pair, minimum=0)
    if isinstance(offset, bool) or not isinstance(offset, Integral):
        raise TypeError(f"offset must be a whole number (int), got {offset!r} of type {type(offset).__name__}")
    turned = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) @ start
    if np.abs(turned - end).max() > 1e-3:
        raise ValueError(f"angle must turn before clockwise into after, got {angle:.4g}, which gives {turned.round(3)}")
    figure, axes = plt.subplots(figsize=(4.4, 4.8), layout="constrained")
    draw_clock_face(axes, float(np.linalg.norm(start)))
    draw_turn(axes, start, angle)
    draw_hand(axes, start, "p", COLOURS[0], "-")
    later = f"p {'+' if offset >= 0 else '−'} {abs(offset)}"
    draw_hand(axes, end, later, COLOURS[1], "--")
    axes.set(xlabel=f"column {2 * pair} (sine)", ylabel=f"column {2 * pair + 1} (cosine)")
    turn = f"{number(offset, 0)} × θ = {number(angle, 3)} rad = {number(np.degrees(angle), 1)}°"
    axes.set_title(f"pair {pair}, from position p to {later}\nclockwise by {turn}")
    return figure


def draw_clock_face(axes: Axes, radius: float = 1.0) -> None:
    """The unit circle and its axes, with room for numbers outside `radius`."""
    turn = np.linspace(0, 2 * np.pi, 181)
    axes.plot(np.sin(turn), np.cos(turn), color=FAINT, linewidth=1, zorder=0)
    axes.axhline(0, color=GRID, linewidth=0.8, zorder=0)
    axes.axvline(0, color=GRID, linewidth=0.8, zorder=0)
    edge = 1.45 * max(radius, 1.0)
    axes.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.xaxis.set_major_formatter(SIGNED_TICKS)
    axes.yaxis.set_major_formatter(SIGNED_TICKS)


def draw_hand(axes: Axes, vector: np.ndarray, label: str, colour: str, dash: str) -> None:
    """An arrow from the centre with its name at the tip."""
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.5, "linestyle": dash, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=tuple(vector), xytext=(0, 0), arrowprops={**arrow, "mutation_scale": 18})
    across, up = 1.2 * vector
    axes.text(across, up, label, color=colour, ha="center", va="center", fontweight="bold")


def draw_turn(axes: Axes, start: np.ndarray, angle: float) -> None:
    """The turn as an arc with an arrowhead, a spiral when it is more than once around."""
    first = np.arctan2(start[0], start[1])  # clockwise from twelve o'clock
    sweep = np.linspace(0, angle, 200)
    radius = 0.35 + 0.07 * np.abs(sweep) / (2 * np.pi)
    across, up = radius * np.sin(first + sweep), radius * np.cos(first + sweep)
    axes.plot(across, up, color=QUIET, linewidth=2)
    arrow = {"arrowstyle": "-|>", "color": QUIET, "linewidth": 2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
    axes.annotate("", xy=(across[-1], up[-1]), xytext=(across[-8], up[-8]), arrowprops=arrow)
