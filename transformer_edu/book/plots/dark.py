"""A picture on a dark ground: what is drawn in the book's light colours, in those of its dark theme.

The cells of a matrix keep their colours, which say how large a number is, and so do the numbers written in them.
As an IPython extension (`%load_ext transformer_edu.book.plots.dark`) it adds to each picture that a notebook shows the
dark one beside the light one, under the type `DARK_PNG`: `make outputs` takes it from there into the published book.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import print_figure
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text

from transformer_edu.book.plots.style import COLOURS, FAINT, FRAME, GRID, HEADS, INK, PARTS, QUIET, WASHES

DARK_PNG = "application/x-dark-png"
PAPER = "#14181e"  # the book's ground in the dark theme
# --te-NAME and --te-NAME-wash in the dark theme, with which a test compares them.
DARK_PARTS = {
    "query": "#8ec5ff",
    "key": "#ffb27d",
    "value": "#7fd3b9",
    "attention": "#8ec5ff",
    "forward": "#ffb27d",
    "embedding": "#e0a6d8",
    "norm": "#aab4bd",
}
DARK_WASHES = {"attention": "#17314e", "forward": "#47291a", "embedding": "#43283f", "norm": "#2c343d"}
DARK_HEADS = (("#3a3166", "#c3b3ff"), ("#4d4213", "#f0d264"), ("#57263a", "#ff9fc0"), ("#173f47", "#7fd9e6"))
DARK_INK, DARK_QUIET, DARK_GRID = "#e9ecef", "#b4bcc4", "#3a424b"
DARK = {
    "#ffffff": PAPER,
    INK: DARK_INK,
    QUIET: DARK_QUIET,
    GRID: DARK_GRID,
    FAINT: "#6b747d",
    FRAME: "#1b2027",
    **{PARTS[name]: DARK_PARTS[name] for name in PARTS},
    **{WASHES[name]: DARK_WASHES[name] for name in WASHES},
    **{
        light: dark
        for pair, other in zip(HEADS, DARK_HEADS, strict=True)
        for light, dark in zip(pair, other, strict=True)
    },
    **dict(zip(COLOURS[5:], ("#f0d264", "#b3a8ff", "#ff9aa5"), strict=True)),
}
Change = tuple[Callable[[Any], Any], Any, Any]  # how a colour is set, what it is, what it is to be


def darkened(colour: Any) -> Any:
    """The dark theme's colour in place of a light one, as strong as that; a colour that is not the book's stays.

    >>> to_hex(darkened("#1a1a1a")), darkened("none"), darkened("red")
    ('#e9ecef', 'none', 'red')
    """
    if isinstance(colour, str) and colour in ("none", "auto"):
        return colour
    dark = DARK.get(to_hex(colour))
    return to_rgba(dark, to_rgba(colour)[3]) if dark else colour


def both_pngs(figure: Figure, **_: Any) -> dict[str, str]:
    """A figure as notebooks show it, and on a dark ground, both as a base64 PNG; the figure itself stays as it is."""
    light = print_figure(figure, fmt="png", base64=True)
    with dark_colours(figure):
        return {"image/png": str(light), DARK_PNG: str(print_figure(figure, fmt="png", base64=True))}


@contextmanager
def dark_colours(figure: Figure) -> Iterator[None]:
    """A figure in the dark theme's colours as long as the block lasts, with everything where it was drawn last."""
    changes = [change for artist in artists(figure) for change in colours_of(artist)]
    layout = figure.get_layout_engine()
    try:
        figure.set_layout_engine("none")
        for change, _, dark in changes:
            change(dark)
        yield
    finally:
        for change, light, _ in reversed(changes):
            change(light)
        figure.set_layout_engine(layout)


def artists(figure: Figure) -> Iterator[Artist]:
    """Everything that a figure draws, what belongs to texts (boxes, arrows) too."""
    for artist in figure.findobj():
        yield artist
        if isinstance(artist, Text) and (box := artist.get_bbox_patch()) is not None:
            yield box
        if isinstance(artist, Annotation) and artist.arrow_patch is not None:
            yield artist.arrow_patch


def colours_of(artist: Artist) -> Iterator[Change]:
    """Each colour of one thing that is drawn."""
    if isinstance(artist, Text):
        if to_hex(artist.get_color()) not in ("#000000", "#ffffff"):  # which stand in cells, see `ink_on`
            yield artist.set_color, artist.get_color(), darkened(artist.get_color())
    elif isinstance(artist, Line2D):
        filled, edged = artist.get_markerfacecolor(), artist.get_markeredgecolor()
        yield artist.set_color, artist.get_color(), darkened(artist.get_color())
        yield artist.set_markerfacecolor, filled, darkened(filled)
        yield artist.set_markeredgecolor, edged, darkened(edged)
    elif isinstance(artist, Patch):
        yield artist.set_facecolor, artist.get_facecolor(), darkened(artist.get_facecolor())
        yield artist.set_edgecolor, artist.get_edgecolor(), darkened(artist.get_edgecolor())
    elif isinstance(artist, Collection):
        edges, faces = artist.get_edgecolor(), artist.get_facecolor()
        yield artist.set_edgecolor, edges, [darkened(edge) for edge in edges]
        if artist.get_array() is None:
            yield artist.set_facecolor, faces, [darkened(face) for face in faces]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Show every figure twice."""
    formatter = shell.display_formatter.mimebundle_formatter  # type: ignore[union-attr]
    formatter.for_type(Figure, both_pngs)
