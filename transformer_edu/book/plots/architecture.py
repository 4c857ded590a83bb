"""The whole Transformer as a drawing: data flows upwards, the encoder on the left, the decoder on the right."""

from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path

from transformer_edu.book.plots.style import FRAME, INK, PARTS, QUIET, TYPE_SIZE, WASHES, WIDTH, book_style
from transformer_edu.support.validation import check_positive_integer

# All lengths are in inches; y grows upwards, the way the data goes.
HEIGHT = 7.4
BOX = 2.05  # width of a box
LOW, TALL = 0.32, 0.56  # height of a box, and of one that also names its mask
SMALL = TYPE_SIZE - 2  # points: shapes, masks, remarks
KINDS = {"attention": "attention", "feed-forward": "forward", "embedding": "embedding", "norm": "norm"}
FILLS = {kind: WASHES[name] for kind, name in KINDS.items()} | {"plain": "white", "data": "white"}
EDGES = {kind: PARTS[name] for kind, name in KINDS.items()} | {"plain": QUIET, "data": INK}


class Part(NamedTuple):
    """One part of a layer; an add & norm follows it."""

    name: str
    kind: str
    mask: str = ""
    below: str = ""  # what the arrow from below brings


class Column(NamedTuple):
    """One half of the model: where it stands and what it is made of."""

    x: float  # the middle
    side: int  # residual arrows run on the left (-1) or on the right (+1)
    ids: str
    seq: str  # name of the sequence's length
    layer: str
    parts: tuple[Part, ...]


FEED_FORWARD = Part("feed-forward", "feed-forward")
ENCODER_PARTS = (Part("self-attention", "attention", "padding mask"), FEED_FORWARD)
DECODER_PARTS = (
    Part("masked self-attention", "attention", "causal + padding mask"),
    Part("cross-attention", "attention", "source padding mask", "queries"),
    FEED_FORWARD,
)
ENCODER = Column(1.575, -1, "source ids", "source_seq", "encoder layer", ENCODER_PARTS)
DECODER = Column(WIDTH - 1.575, +1, "target ids (so far)", "seq", "decoder layer", DECODER_PARTS)


@book_style
def plot_architecture(num_layers: int = 6) -> Figure:
    """The encoder–decoder of "Attention Is All You Need" (section 3, norms after each sum), with shapes and masks.

    Args:
        num_layers: layers in the encoder, and as many in the decoder.
    """
    check_positive_integer("num_layers", num_layers)
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT))
    axes.set_axis_off()
    encoder_top, _ = draw_stack(axes, ENCODER, num_layers)
    decoder_top, middles = draw_stack(axes, DECODER, num_layers)
    memory = draw_memory(axes, encoder_top)
    draw_path_to_decoder(axes, memory, middles[1])
    draw_output(axes, decoder_top)
    draw_key(axes)
    return figure


def draw_stack(axes: Axes, column: Column, num_layers: int) -> tuple[float, list[float]]:
    """From the ids to the end of the framed layer: its top, and the middle height of each part."""
    x, y = column.x, 0.12
    y = draw_box(axes, x, y, column.ids, "data")
    y = draw_step(axes, x, y, 0.3, f"(batch, {column.seq})")
    y = draw_box(axes, x, y, "embedding × √d_model", "embedding")
    y = draw_step(axes, x, y, 0.2)
    y = draw_box(axes, x, y, "+ positional encoding", "plain")
    draw_remark(axes, x + 0.1, y + 0.18, f"(batch, {column.seq}, d_model)")
    start, frame, y, middles = y, y + 0.36, y + 0.62, []
    for part in column.parts:
        draw_arrow(axes, (x, start), (x, y))
        middles.append(y + (TALL if part.mask else LOW) / 2)
        start = draw_part(axes, column, y, part)
        y = start + 0.3
    top = start + 0.36
    draw_frame(axes, column, frame, top, num_layers)
    draw_arrow(axes, (x, start), (x, top + 0.28))
    return top + 0.28, middles


def draw_part(axes: Axes, column: Column, y: float, part: Part) -> float:
    """A part, the add & norm above it and the residual arrow around it. Returns the top of the add & norm."""
    x = column.x
    if part.below:
        draw_remark(axes, x - 0.1, y - 0.14, part.below, "right")
    top = draw_box(axes, x, y, part.name, part.kind, part.mask)
    norm = draw_step(axes, x, top, 0.16)
    lane, entry = x + column.side * (BOX / 2 + 0.17), norm + LOW / 2
    fork = y - 0.16
    axes.plot(x, fork, "o", color=INK, markersize=3.5)
    draw_arrow(axes, (x, fork), (lane, fork), (lane, entry), (x + column.side * BOX / 2, entry))
    return draw_box(axes, x, norm, "add & norm", "norm")


def draw_frame(axes: Axes, column: Column, bottom: float, top: float, num_layers: int) -> None:
    """The frame of a layer, with its name and how many there are."""
    x, width, shape = column.x, BOX + 0.43, "round,pad=0,rounding_size=0.1"
    left = x + column.side * 0.085 - width / 2  # wider on the side of the residual arrows
    frame = FancyBboxPatch((left, bottom), width, top - bottom, boxstyle=shape)
    frame.set(facecolor=FRAME, edgecolor=QUIET, linestyle=(0, (5, 3)), linewidth=1.2, zorder=0)
    axes.add_patch(frame)
    for side, text in ((column.side, column.layer), (-column.side, f"× {num_layers:,}")):
        start = "left" if side > 0 else "right"
        axes.text(x + side * 0.12, top - 0.17, text, ha=start, va="center", fontsize=SMALL + 0.5, fontweight="bold")


def draw_memory(axes: Axes, y: float) -> float:
    """What the encoder hands over. Returns the height of its middle."""
    top = draw_box(axes, ENCODER.x, y, "memory", "data")
    draw_remark(axes, ENCODER.x, top + 0.13, "(batch, source_seq, d_model)", "center")
    return y + LOW / 2


def draw_path_to_decoder(axes: Axes, memory: float, cross_attention: float) -> None:
    """The arrow from the memory into the decoder's cross-attention."""
    start, turn, end = ENCODER.x + BOX / 2, 3.2, DECODER.x - BOX / 2
    points = ((start, memory), (turn, memory), (turn, cross_attention), (end, cross_attention))
    draw_arrow(axes, *points, width=2.0)
    draw_remark(axes, turn + 0.08, cross_attention + 0.12, "keys, values")
    draw_remark(axes, turn + 0.08, memory - 0.1, "to every\ndecoder\nlayer", vertical="top")


def draw_output(axes: Axes, y: float) -> None:
    """From the decoder's last vectors to a score for every word of the vocabulary."""
    draw_remark(axes, DECODER.x + 0.1, y - 0.14, "(batch, seq, d_model)")
    y = draw_box(axes, DECODER.x, y, "projection", "embedding")
    y = draw_step(axes, DECODER.x, y, 0.3, "(batch, seq, vocab)")
    draw_box(axes, DECODER.x, y, "logits", "data")


def draw_key(axes: Axes) -> None:
    """What the signs mean that do not say it themselves."""
    x, y = 0.25, HEIGHT - 0.3
    draw_arrow(axes, (x, y - 0.12), (x + 0.16, y - 0.12), (x + 0.16, y + 0.12), (x + 0.42, y + 0.12))
    draw_remark(axes, x + 0.6, y, "residual: x goes around the part")
    draw_mask(axes, x + 0.21, y - 0.4, "mask")
    draw_remark(axes, x + 0.6, y - 0.4, "hides keys from the queries")
    axes.add_patch(Rectangle((x, y - 0.9), 0.42, 0.2, facecolor=FILLS["norm"], edgecolor=EDGES["norm"], linewidth=1.4))
    draw_remark(axes, x + 0.6, y - 0.8, "add & norm: LayerNorm(x + part(x))")


def draw_box(axes: Axes, x: float, y: float, text: str, kind: str, mask: str = "") -> float:
    """A labelled box that stands on height y; data has round ends. Returns its top."""
    height = TALL if mask else LOW
    rounding = LOW / 2 if kind == "data" else 0.05
    box = FancyBboxPatch((x - BOX / 2, y), BOX, height, boxstyle=f"round,pad=0,rounding_size={rounding}")
    box.set(facecolor=FILLS[kind], edgecolor=EDGES[kind], linewidth=1.4, zorder=2)
    axes.add_patch(box)
    axes.text(x, y + height - LOW / 2, text, ha="center", va="center_baseline", fontsize=TYPE_SIZE - 0.5)
    if mask:
        draw_mask(axes, x, y + 0.16, mask)
    return y + height


def draw_mask(axes: Axes, x: float, y: float, text: str) -> None:
    """The name of a mask in a dotted frame."""
    style = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": INK, "linestyle": ":", "linewidth": 1.0}
    axes.text(x, y, text, ha="center", va="center_baseline", fontsize=SMALL, bbox=style, zorder=3)


def draw_step(axes: Axes, x: float, y: float, length: float, shape: str = "") -> float:
    """An arrow upwards, and the shape of what it carries. Returns the height of its tip."""
    draw_arrow(axes, (x, y), (x, y + length))
    if shape:
        draw_remark(axes, x + 0.1, y + length / 2, shape)
    return y + length


def draw_remark(axes: Axes, x: float, y: float, text: str, side: str = "left", vertical: str = "center") -> None:
    """Small quiet text."""
    axes.text(x, y, text, ha=side, va=vertical, fontsize=SMALL, color=QUIET)


def draw_arrow(axes: Axes, *points: tuple[float, float], width: float = 1.3) -> None:
    """An arrow along straight pieces, its head at the last point."""
    arrow = FancyArrowPatch(path=Path(points), arrowstyle="-|>", mutation_scale=9, linewidth=width, color=INK)
    arrow.set(joinstyle="round", capstyle="butt", fill=True, zorder=1)
    axes.add_patch(arrow)
