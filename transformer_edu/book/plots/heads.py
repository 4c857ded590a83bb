"""What several heads are for, and the way of the numbers through them."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from transformer_edu.book.plots.architecture import EDGES, FILLS, draw_arrow
from transformer_edu.book.plots.inputs import as_labels
from transformer_edu.book.plots.style import HEADS, INK, QUIET, TYPE_SIZE, WIDTH, book_style
from transformer_edu.support.validation import check_positive_integer

Look = tuple[str, str]  # fill, edge
GREY: Look = (FILLS["norm"], EDGES["norm"])
SQUARE = 0.14  # inches: one number of a matrix
LANES = (1.95, 0.75)  # inches: the height of each head's lane
MIDDLE = 1.35


@book_style
def plot_one_and_two_heads(sentences: Sequence[Sequence[str]]) -> Figure:
    """The middle word of three looks at both neighbours: one head brings their mean, two heads bring each.

    Args:
        sentences: (left, middle, right) each; a row of the picture for each sentence, a column for one and two heads.
    """
    rows = [as_labels(f"sentences[{index}]", words, 3) for index, words in enumerate(sentences)]
    figure, grid = plt.subplots(len(rows), 2, figsize=(WIDTH, 1.3 * len(rows)), squeeze=False, layout="constrained")
    for (single, two), (left, middle, right) in zip(grid, rows, strict=True):
        draw_looks(single, (left, middle, right), (QUIET, QUIET), share="½")
        mean = ", ".join(f"half {word}" for word in sorted((left, right)))  # whoever stands where
        single.text(0, -0.6, mean, ha="center", color=QUIET)
        edges = (HEADS[0][1], HEADS[1][1])
        draw_looks(two, (left, middle, right), edges)
        for place, (head, word) in enumerate(((1, left), (2, right))):
            two.text(1.5 * place - 0.75, -0.6, f"head {head}: {word}", ha="center", color=edges[place])
    grid[0, 0].set_title("one head")
    grid[0, 1].set_title("two heads")
    return figure


def draw_looks(axes: Axes, words: tuple[str, str, str], colours: tuple[str, str], share: str = "") -> None:
    """Three words, and a bent arrow from the middle one to each neighbour, with the weight on it."""
    axes.set(xlim=(-1.6, 1.6), ylim=(-0.8, 0.95))
    axes.set_axis_off()
    for place, word in zip((-1, 0, 1), words, strict=True):
        axes.text(place, 0, word, ha="center", fontsize=TYPE_SIZE + 2, weight="normal" if place else "bold")
    for side, colour in zip((-1, 1), colours, strict=True):
        bend = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.5, "connectionstyle": f"arc3,rad={-0.5 * side}"}
        axes.annotate("", xy=(side, 0.26), xytext=(0.12 * side, 0.24), arrowprops=bend)
        axes.text(0.5 * side, 0.7, share, ha="center", color=QUIET)


@book_style
def plot_multi_head(num_tokens: int = 3) -> Figure:
    """Multi-head attention with two heads and d_model 4: x, a lane for each head, side by side, times W_O.

    A head has two columns of W_Q, W_K and W_V and brings (num_tokens, 2); side by side that is (num_tokens, 4).

    Vaswani et al. 2017, section 3.2.2.
    """
    check_positive_integer("num_tokens", num_tokens)
    figure = plt.figure(figsize=(WIDTH, 2.7))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, 2.7))
    axes.set_axis_off()
    draw_grid(axes, 0.1, MIDDLE, num_tokens, [GREY] * 4, "x")
    for head, (y, look) in enumerate(zip(LANES, HEADS, strict=False), start=1):
        draw_lane(axes, y, look, f"head {head}", num_tokens)
    both = [look for look in HEADS[:2] for _ in range(2)]
    draw_grid(axes, 4.85, MIDDLE, num_tokens, both, "side by\nside")
    axes.text(5.54, MIDDLE, "·", ha="center", va="center")
    draw_matrix(axes, 5.62, MIDDLE, [GREY] * 4, "O")
    draw_arrow(axes, (6.2, MIDDLE), (6.35, MIDDLE))
    draw_grid(axes, 6.38, MIDDLE, num_tokens, [GREY] * 4, "output")
    return figure


def draw_lane(axes: Axes, y: float, look: Look, name: str, num_tokens: int) -> None:
    """One head, from x to its result: its three matrices, its attention, what it brings."""
    fill, edge = look
    draw_arrow(axes, (0.72, MIDDLE), (0.9, MIDDLE), (0.9, y), (1.15, y))
    axes.text(1.25, y + 0.38, name, color=edge, weight="bold")
    for place, letter in enumerate("QKV"):
        draw_matrix(axes, 1.25 + 0.48 * place, y, [look] * 2, letter)
    draw_arrow(axes, (2.6, y), (2.85, y))
    box = FancyBboxPatch((2.9, y - 0.18), 1.0, 0.36, boxstyle="round,pad=0")
    box.set(facecolor=fill, edgecolor=edge, linewidth=1.4)
    axes.add_patch(box)
    axes.text(3.4, y, "attention", ha="center", va="center_baseline", color=INK)
    draw_grid(axes, 4.05, y, num_tokens, [look] * 2)
    draw_arrow(axes, (4.4, y), (4.6, y), (4.6, MIDDLE), (4.8, MIDDLE))


def draw_grid(axes: Axes, x: float, y: float, rows: int, looks: Sequence[Look], name: str = "") -> None:
    """A matrix of small squares, centred in height on y: a column for each look. Its name stands below."""
    for column, (fill, edge) in enumerate(looks):
        for row in range(rows):
            corner = (x + SQUARE * column, y + SQUARE * (rows / 2 - row - 1))
            axes.add_patch(Rectangle(corner, SQUARE, SQUARE, facecolor=fill, edgecolor=edge))
    axes.text(x + SQUARE / 2 * len(looks), y - SQUARE / 2 * rows - 0.06, name, ha="center", va="top")


def draw_matrix(axes: Axes, x: float, y: float, looks: Sequence[Look], letter: str) -> None:
    """A matrix of learned numbers, d_model = 4 rows, and its name, W with the letter as an index."""
    draw_grid(axes, x, y, 4, looks)
    middle, line = x + SQUARE / 2 * len(looks), y - 4 * SQUARE / 2 - 0.2
    axes.text(middle + 0.02, line, "W", ha="right", va="baseline", style="italic")
    axes.text(middle + 0.03, line - 0.04, letter, ha="left", va="baseline", fontsize=TYPE_SIZE - 2)
