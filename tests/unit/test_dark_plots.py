"""Every picture has a twin in the colours of the figures' dark theme; drawing it leaves the light one alone."""

import base64
import io
import re

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb, to_rgba
from PIL import Image

from tests.unit.test_plots import HEADS, PICTURES, SOURCE, contrast, drawn_once
from transformer_edu import plots
from transformer_edu.book.plots import dark

pytestmark = pytest.mark.filterwarnings("ignore:More than 20 figures")
FUNCTIONS = sorted({picture.function for picture in PICTURES})
INK = ("#000000", "#ffffff")  # of numbers in the cells of a matrix


def colours(figure):
    """All that can be seen of the colours that a figure draws in, but for the cells of matrices and the ink in them."""
    visible = [artist for artist in dark.artists(figure) if artist.get_visible()]
    found = [now for artist in visible for _, now, _ in dark.colours_of(artist)]
    single = [hue for some in found for hue in ([some] if isinstance(some, str) else np.atleast_2d(some)) if len(hue)]
    drawn = [to_rgba(colour) for colour in single if str(colour) != "none"]
    return {to_hex(colour) for colour in drawn if colour[3]}


def changes(figure):
    return [change for artist in dark.artists(figure) for change in dark.colours_of(artist)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_dark_picture_has_no_colour_of_the_light_theme_and_the_light_one_keeps_its_own(function):
    figure = drawn_once(function)
    light = [str(now) for _, now, _ in changes(figure)]
    assert colours(figure) <= set(dark.DARK), "a colour that dark.py does not know"
    with dark.dark_colours(figure):
        assert colours(figure) <= set(dark.DARK.values())
        words = {to_hex(text.get_color()) for text in figure.findobj(lambda artist: hasattr(artist, "get_fontsize"))}
        assert min(contrast(colour, dark.PAPER) for colour in words - set(INK)) >= 4.5
    assert [str(now) for _, now, _ in changes(figure)] == light


@pytest.mark.long
def test_a_dark_picture_is_dark_and_all_else_stands_where_it_does_in_the_light_one():
    figure = plots.plot_attention(HEADS[0], queries=SOURCE, keys=SOURCE)  # a colour bar, and words in the margin
    bundle = dark.both_pngs(figure)
    light, night = (Image.open(io.BytesIO(base64.b64decode(image))).convert("RGB") for image in bundle.values())
    ground = np.array([255, 255, 255]), np.array([round(255 * part) for part in to_rgb(dark.PAPER)])
    empty = [(np.asarray(picture) == colour).all(-1) for picture, colour in zip((light, night), ground, strict=True)]
    assert light.size == night.size
    assert empty[0][0].all()
    assert empty[1][0].all()
    assert (empty[0] == empty[1]).mean() > 0.99


def test_the_dark_theme_of_plots_is_that_of_the_figures(root):
    styles = root / "transformer_edu" / "book" / "figures" / "css"
    css = dict(re.findall(r"(--te-[\w-]+):([^;]+);", (styles / "figures.css").read_text(encoding="utf-8")))

    def night(name):
        value = css[f"--te-{name}"].strip()
        if found := re.fullmatch(r"var\(--te-([\w-]+)\)", value):
            return night(found[1])
        return value.removesuffix(")").split(", ")[1]

    assert {name: night(name) for name in dark.DARK_PARTS} == dark.DARK_PARTS
    assert {name: night(f"{name}-wash") for name in dark.DARK_WASHES} == dark.DARK_WASHES
    assert (night("paper"), night("ink"), night("soft")) == (dark.PAPER, dark.DARK_INK, dark.DARK_QUIET)
    heads = re.findall(
        r"--head: light-dark\(\S+ (\S+)\); --edge: light-dark\(\S+ (\S+)\)",
        (styles / "head-splitter.css").read_text("utf-8"),
    )
    assert tuple(heads) == dark.DARK_HEADS


@pytest.mark.long
def test_a_notebook_shows_each_picture_light_and_dark():
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython()
    dark.load_ipython_extension(shell)
    bundle, _ = shell.display_formatter.format(drawn_once("matrices"))
    assert dark.DARK_PNG in bundle
