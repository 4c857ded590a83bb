"""One look for every picture: type size, colours, line styles. It holds while a figure is made and then is gone."""

import functools
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, SupportsFloat

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

WIDTH = 7.0  # inches: the book's column at 100 pixels an inch
TYPE_SIZE = 11.0  # points
INK = "#1a1a1a"
QUIET = "#595959"  # for what is not the point: 7:1 on white
GRID = "#d9d9d9"
FAINT = "#a6a6a6"  # circles and axes that a drawing stands on
FRAME = "#f7f7f7"  # behind a group of boxes

MAGNITUDE = "cividis"
SIGNED = LinearSegmentedColormap.from_list("blue_orange", ["#0b4f8a", "#6fa8d6", "#f7f7f7", "#f0a04b", "#a34700"])

# One colour for each of Q, K and V and for each kind of part, and a wash of it to fill boxes with: the figures' colours
# in the light theme, --te-NAME and --te-NAME-wash of widgets/css/figures.css, with which a test compares them.
PARTS = {
    "query": "#0b57a8",
    "key": "#a03d00",
    "value": "#00664f",
    "attention": "#0b57a8",
    "forward": "#a03d00",
    "embedding": "#7b2f72",
    "norm": "#4d565f",
}
WASHES = {"attention": "#e1eefb", "forward": "#fdebdd", "embedding": "#f4e6f2", "norm": "#e8ebee"}
# Head 1, 2, ...: (wash, edge), as in widgets/css/head-splitter.css.
HEADS = (("#e6e0fa", "#5b3fb5"), ("#f8ecb8", "#7a5b00"), ("#fbdde8", "#a81752"), ("#d3eef2", "#00616e"))

# Colours that differ for every kind of colour vision and are dark enough (4.5:1 on white) to write in.
COLOURS = (
    *(PARTS["query"], PARTS["key"], PARTS["value"], PARTS["embedding"]),
    *("#1a1a1a", "#7a5c00", "#5a4fcf", "#a8203d"),
)
DASHES = ("-", "--", "-.", ":", (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (1, 1)), (0, (8, 3)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "*")

SETTINGS: dict[Any, Any] = {
    "figure.dpi": 144,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on every machine
    "font.size": TYPE_SIZE,
    "axes.titlesize": TYPE_SIZE,
    "axes.labelsize": TYPE_SIZE,
    "xtick.labelsize": TYPE_SIZE - 1,
    "ytick.labelsize": TYPE_SIZE - 1,
    "legend.fontsize": TYPE_SIZE,
    "figure.titlesize": TYPE_SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": GRID,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "text.usetex": False,
    "text.parse_math": False,  # a token such as $x$ is text, never a formula
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
}

LAYOUTS = 3  # until matplotlib's layout stays as it is: the same picture, however often it is drawn

Arguments = ParamSpec("Arguments")


def book_style(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Run a plotting function under the book's settings, and under nobody else's.

    Matplotlib reads some settings only when it first draws, so the figure is laid out before they are gone.
    """

    @functools.wraps(draw)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        with plt.rc_context():
            plt.rcdefaults()
            plt.rcParams.update(SETTINGS)
            figure = draw(*args, **kwargs)
            for axes in figure.axes:
                axes.tick_params(labelsize=SETTINGS["xtick.labelsize"])  # how many ticks fit hangs on it
            for _ in range(LAYOUTS):
                figure.draw_without_rendering()
        return figure

    return styled


def number(value: float | int, decimals: int = 2, signed: bool = False) -> str:
    """A number as the book prints it: a real minus, ∞, never "−0.0"."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "−∞" if value < 0 else "+∞" if signed else "∞"
    rounded = round(float(value), decimals)
    sign = "−" if rounded < 0 else "+" if signed and rounded > 0 else ""
    return f"{sign}{abs(rounded):,.{decimals}f}"


def plain_number(value: SupportsFloat, _position: int | None = None) -> str:
    """A tick label without powers in superscript: 0.001, 1, 1,000."""
    size = abs(float(value))
    text = f"{size:,.10g}" if 1e-4 <= size < 1e7 or size == 0 else f"{size:.0e}"
    return f"−{text}" if float(value) < 0 else text


def signed_number(value: SupportsFloat, _position: int | None = None) -> str:
    """A tick label that says its sign: −1, 0, +1."""
    return f"+{plain_number(value)}" if float(value) > 0 else plain_number(value)


PLAIN_TICKS = FuncFormatter(plain_number)
SIGNED_TICKS = FuncFormatter(signed_number)


def ink_on(background: Any) -> str:
    """Black or white, whichever reads better on a colour; the better of the two always has at least 4.5:1."""
    channels = np.array(to_rgb(background), dtype=np.float64)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ np.array([0.2126, 0.7152, 0.0722]))
    return "black" if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else "white"


def colour_scale(values: np.ndarray) -> tuple[Colormap, Normalize]:
    """Colour map and range for some values: signed around 0 when any is negative, else from 0 up."""
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 1.0
    largest = largest or 1.0
    if finite.size and finite.min() < 0:
        return SIGNED, Normalize(-largest, largest)
    return plt.get_cmap(MAGNITUDE), Normalize(0, largest)


def quiet_grid(axes: Axes, axis: Literal["x", "y", "both"] = "y") -> None:
    """Thin grid lines behind the data."""
    axes.grid(True, axis=axis, linewidth=0.8)
    axes.set_axisbelow(True)


def whole_ticks(*axes: Axis) -> None:
    """Ticks at whole numbers only: positions, dimensions, steps."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
