"""The book's pictures: they draw the right data, label it, print tokens as they are, and leave no trace."""

import io
import math
import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

from transformer_edu import plots
from transformer_edu.book.plots.style import COLOURS, PARTS, SIGNED, WASHES, ink_on, number, plain_number
from transformer_edu.book.plots.style import HEADS as HEAD_COLOURS
from transformer_edu.positional import sinusoidal_table

SOURCE = ["the", "small", "black", "cat", "does", "not", "sleep"]
HOSTILE = ["$x$", "<img src=x onerror=alert(1)>", "a_b^c", "\n"]
HEADS = torch.softmax(2 * torch.randn(2, 7, 7, generator=torch.Generator().manual_seed(0)), -1)
EYE = torch.eye(2)
TABLE = sinusoidal_table(60, 16)
ANGLE = 5 * 10_000 ** (-2 * 2 / 16)  # between two positions of pair 2 that are 5 apart, in radians
BAND = "line: mean of 2 seeds; band: lowest to highest"


class Picture(NamedTuple):
    """A call, the numbers that must be in the picture (in its order), and words that must be written in it."""

    function: str
    arguments: tuple
    options: dict
    numbers: list | None
    words: set[str]

    def draw(self):
        return getattr(plots, f"plot_{self.function}")(*self.arguments, **self.options)


@cache
def drawn_once(function):
    return next(picture for picture in PICTURES if picture.function == function).draw()


PICTURES = [
    Picture("architecture", (), {}, [],
            {"source ids", "target ids (so far)", "memory", "projection", "logits", "encoder layer", "decoder layer",
             "self-attention", "masked self-attention", "cross-attention", "queries", "keys, values", "feed-forward",
             "padding mask", "causal + padding mask", "source padding mask", "× 6", "add & norm",
             "(batch, source_seq)", "(batch, source_seq, d_model)", "(batch, seq, d_model)", "(batch, seq, vocab)"}),
    Picture("matrices", ({"Q": torch.tensor([[1.0, -2.0]]), "A": torch.tensor([[0.25], [3.0]])},),
            {"row_labels": {"Q": ["the"]}, "decimals": 2, "highlight": {"Q": [(0, 1)]}},
            [[[1, -2]], [[0.25], [3]]], {"Q", "1 × 2", "+1.00", "−2.00", "the", "A", "2 × 1", "0.25"}),
    Picture("attention", (HEADS[0, :3], HOSTILE[:3], SOURCE), {"title": "cross"}, [HEADS[0, :3]],
            {*HOSTILE[:3], *SOURCE, "key (looked at)", "query (who looks)", "cross", f"{HEADS[0, 0, 0]:.2f}"}),
    Picture("attention_heads", ({"layer 1": HEADS, "layer 2": HEADS.flip(0)}, SOURCE, SOURCE), {},
            [*HEADS, *HEADS.flip(0)], {"layer 1", "layer 2", "head 1", "head 2", "attention weight", *SOURCE}),
    Picture("encoding", (TABLE.bfloat16(),), {}, [TABLE.bfloat16().float()], {"position", "dimension", "value"}),
    Picture("waves", (TABLE, [0, 4]), {}, [list(enumerate(TABLE[:, 0])), list(enumerate(TABLE[:, 4]))],
            {"dimension 0", "dimension 4", "position", "value"}),
    Picture("position_similarity", (TABLE,), {"positions": (10, 30)},
            [TABLE @ TABLE.T, *([(k - p, TABLE[p] @ TABLE[k]) for k in range(60)] for p in (10, 30))],
            {"p = 10", "p = 30", "offset k (positions)"}),
    Picture("rotation", (TABLE[3, 4:6], TABLE[8, 4:6], ANGLE), {"pair": 2, "offset": 5}, None,
            {"p", "p + 5", "column 4 (sine)", "column 5 (cosine)"}),
    Picture("lines", ([4, 64], {"RNN": torch.tensor([[1.0, 0.5], [0.8, 0.3]]), "$a$": [1.0, 1.0]}, "distance", "right"),
            {"x_log": True, "title": "copy task", "reference_lines": {"guess": 0.1}},
            [[[4, 0.9], [64, 0.4]], [[4, 1], [64, 1]]],
            {"RNN", "$a$", "guess", "distance", "right", f"copy task\n{BAND}", "4", "64"}),
    Picture("bars", ({"complete": 98.7, "none": -3}, "change (%)", 1), {"errors": {"complete": 0.4}}, [[98.7, -3]],
            {"complete", "none", "98.7 ± 0.4", "−3.0", "change (%)"}),
    Picture("distributions", ({"x": torch.tensor([[1.0, 3.0]]), "same": torch.ones(5)}, "value"), {"bins": 4}, None,
            {"x\nmean 2.00, std 1.00", "same\nmean 1.00, std 0.00", "value"}),  # the population's std: divided by n
    Picture("training", ({"warm-up": [[3.0, 2.0], [3.2, 2.2]], "none": [torch.ones((), requires_grad=True), 2.0]},),
            {"reference_lines": {"guess": 2.7}, "steps": [0, 100]},
            [[[0, 3.1], [100, 2.1]], [[0, 1], [100, 2]]], {"guess", BAND, "loss in nats per token"}),
    Picture("schedule", ({"warm-up of 10 steps, d_model 512": [1e-4, 2e-4]},), {}, [[[1, 1e-4], [2, 2e-4]]],
            {"warm-up of 10 steps, d_model 512", "step", "learning rate"}),
    Picture("measures", ([10, 20], {"loss": [3.0, 2.0], "BLEU": torch.tensor([9.0, 35.0])}), {},
            [[[10, 3], [20, 2]], [[10, 9], [20, 35]]], {"loss", "BLEU", "step"}),
    Picture("vectors", ({"cat": torch.tensor([0.0, 2.0]), "centred": [-1.0, 1.0]},), {}, None,
            {"cat", "centred", "2.00", "−1.00", "entry of the vector"}),
    Picture("moves", ({"river": (2.0, 0.0)}, ("bank", (1, 1)), {"by the river": torch.tensor([1.5, 0.5])},
                      ("water", "money")), {}, [[[2, 0]], [[1.5, 0.5]], [[1, 1]]],
            {"river", "bank", "by the river", "water", "money"}),
    Picture("one_and_two_heads", ([("dog", "bites", "man"), ("man", "bites", "dog")],), {}, [],
            {"half dog, half man", "head 1: dog", "head 2: man", "head 1: man", "head 2: dog", "one head", "½"}),
    Picture("multi_head", (), {}, [], {"x", "head 1", "head 2", "W", "Q", "K", "V", "O", "side by\nside", "output"}),
    Picture("classes", ({"$x$": (EYE, ("not", "good")), "same": (torch.ones(2, 2), ("one", "two"))}, [1, 0],
                        ("bad", "fine")), {"boundary": {"$x$": (1, 1, -0.5)}}, [[[-0.3, 0.8], [0.9, -0.4]]],
            {"bad", "fine", "bad, fine", "not", "good", "one", "two", "$x$", "same"}),
    Picture("norm_placement", (), {}, [],
            {"post-norm: norm(x + F(x))", "pre-norm: x + F(norm(x))", "the stream", "norm", "F"}),
    Picture("truncation", ({"after a": {"dog": 0.3, "cat": 0.7}},), {"kept": {"top-k, k = 1": {"after a": ["cat"]}}},
            None, {"after a: top-k, k = 1", "0.70", "0.30", "kept: 0.70", "cat", "dog", "probability"}),
    Picture("draws", ({"as it is": {"a cat": 0.2, "$x$": 0.1}, "cut": {"a cat": 0.25}},
                      {"as it is": {"a cat": 0.15}, "cut": {"a cat": 0.25}}, ["a cat", "$x$"]), {}, [[20, 10], [25, 0]],
            {"as it is", "cut", "a cat", "$x$", "never", "per cent"}),
]  # fmt: skip
every_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.function)


@pytest.fixture(autouse=True)
def _never_shown_and_closed_afterwards(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("plt.show() was called"))
    yield
    plt.close("all")


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=50, format="png")
    return buffer.getvalue()


def texts(figure):
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def drawn(figure):
    """All numbers of a picture's axes: cells and images, then the lengths of bars, or curves as (x, y)."""
    found = []
    for axes in figure.axes:
        if axes.get_label() != "<colorbar>" and axes.axison:
            found += [mesh.get_array() for mesh in axes.collections if isinstance(mesh, QuadMesh)]
            found += [image.get_array() for image in axes.images]
            bars = [bar.get_width() for bars in axes.containers for bar in getattr(bars, "patches", ())]
            curves = [line.get_xydata() for line in axes.lines if line.get_transform() == axes.transData]
            found += [bars] if bars else curves
    return found


def contrast(first, second):
    """WCAG contrast of two colours, written from its definition."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def overlapping(boxes):
    return [(i, j) for i in range(len(boxes)) for j in range(i) if boxes[i].overlaps(boxes[j])]


def test_every_public_plot_is_tried_here_and_used_by_a_chapter(root):
    chapters = "".join(path.read_text(encoding="utf-8") for path in (root / "notebooks").glob("*.ipynb"))
    assert set(plots.__all__) == {f"plot_{picture.function}" for picture in PICTURES}
    assert set(plots.__all__) <= set(re.findall(r"\bplots\.(plot_\w+)\(", chapters))


@every_picture
def test_the_right_numbers_are_drawn_and_named(picture):
    figure = drawn_once(picture.function)
    assert picture.words <= {text.get_text() for text in texts(figure)}
    if picture.numbers is not None:
        for found, given in zip(drawn(figure), picture.numbers, strict=True):
            np.testing.assert_allclose(found, given, rtol=1e-5, atol=1e-6)


@every_picture
def test_it_is_white_fits_the_page_and_is_legible(picture):
    figure = drawn_once(picture.function)
    assert to_rgb(figure.get_facecolor()) == (1, 1, 1)
    assert figure.get_figwidth() <= 7.5
    assert min(text.get_fontsize() for text in texts(figure)) >= 9
    assert not any(text.get_parse_math() or text.get_usetex() for text in texts(figure))  # $x$ is no formula
    box = figure.get_tightbbox()
    assert min(box.x0, box.y0) > -0.05
    assert max(box.x1 - figure.get_figwidth(), box.y1 - figure.get_figheight()) < 0.05


@every_picture
@pytest.mark.long
def test_the_readers_settings_are_untouched_and_have_no_influence(picture):
    expected = png(drawn_once(picture.function))
    odd = {"font.size": 30, "axes.facecolor": "red", "text.parse_math": True, "axes.labelpad": 40, "axes.titlepad": 40}
    with plt.rc_context(odd):
        before = dict(plt.rcParams)
        figure = picture.draw()
        assert dict(plt.rcParams) == before
        assert png(figure) == expected  # also: the same bytes twice


@pytest.mark.parametrize("colours", [plt.get_cmap("cividis"), SIGNED], ids=["magnitude", "signed"])
def test_text_can_be_read_on_every_cell_colour_and_in_every_line_colour(colours):
    assert min(contrast(colour, "white") for colour in COLOURS) >= 4.5
    for share in np.linspace(0, 1, 101):
        assert contrast(ink_on(colours(share)[:3]), colours(share)[:3]) >= 4.5


def light(variables, value):
    """A CSS colour in the light theme: "light-dark(#1, #2)" -> "#1"; "var(--x)" -> what x is."""
    value = value.strip()
    if found := re.fullmatch(r"var\((--[\w-]+)\)", value):
        return light(variables, variables[found[1]])
    return value.removeprefix("light-dark(").split(",")[0]


def test_plots_and_figures_have_one_colour_for_each_kind_of_part(root):
    styles = root / "transformer_edu" / "book" / "figures" / "css"
    css = dict(re.findall(r"(--te-[\w-]+):([^;]+);", (styles / "figures.css").read_text(encoding="utf-8")))
    assert {name: light(css, css[f"--te-{name}"]) for name in PARTS} == PARTS
    assert {name: light(css, css[f"--te-{name}-wash"]) for name in WASHES} == WASHES
    heads = re.findall(
        r'"(\d)"\] \{ --head: ([^;]+); --edge: ([^;]+); \}', (styles / "head-splitter.css").read_text("utf-8")
    )
    assert tuple((light({}, fill), light({}, edge)) for _, fill, edge in sorted(heads)) == HEAD_COLOURS
    assert min(contrast(colour, "white") for colour in PARTS.values()) >= 4.5


def test_numbers_are_printed_as_in_a_book():
    signed = [number(-0.04, 1, True), number(2, 0, True), number(math.nan, 1, True)]
    assert signed == ["0.0", "+2", "NaN"]
    assert [number(x, 1) for x in (-2.5, -math.inf, math.inf, 12345.6)] == ["−2.5", "−∞", "∞", "12,345.6"]
    assert [plain_number(x) for x in (0, -0.5, 1000, 2e-5)] == ["0", "−0.5", "1,000", "2e-05"]


def test_architecture_words_touch_neither_each_other_nor_the_edge_of_a_box():
    axes = plots.plot_architecture().axes[0]
    words = [text.get_window_extent().padded(4) for text in axes.texts]  # pixels of air around each
    boxes = [box.get_window_extent() for box in axes.patches if isinstance(box, FancyBboxPatch)]
    assert not overlapping(words)
    assert len(boxes) >= 2 * 3 + 4 + 6 + 3 + 2  # before the layers; in them; after them; frames
    for word in words:
        for box in boxes:
            inside = box.x0 < word.x0 and word.x1 < box.x1 and box.y0 < word.y0 and word.y1 < box.y1
            assert inside or not word.overlaps(box)


@pytest.mark.long
def test_cells_of_matrices_are_coloured_around_zero_marked_and_written_on_in_readable_ink():
    figure = plots.plot_matrices({"M": torch.linspace(-3, 2, 20).reshape(4, 5)}, highlight={"M": [(2, 1)]})
    (mesh,) = (child for child in figure.axes[0].collections if isinstance(child, QuadMesh))
    assert mesh.norm.vmin == -mesh.norm.vmax
    inks = [text.get_color() for text in figure.axes[0].texts[:20]]
    assert min(contrast(*pair) for pair in zip(inks, mesh.get_facecolors()[:, :3], strict=True)) >= 4.5
    assert {patch.get_xy() for patch in figure.axes[0].patches} == {(0.5, 1.5)}  # column 1, row 2: upper left corner
    odd = plots.plot_matrices({"scores": torch.tensor([[-1.5, -math.inf], [math.nan, 2.0]])})
    assert {"−1.5", "−∞", "NaN", "+2.0"} <= {text.get_text() for text in texts(odd)}


@pytest.mark.long
def test_matrices_that_are_too_wide_for_one_line_go_to_the_next():
    figure = plots.plot_matrices({f"M{i}": torch.eye(4) for i in range(6)})
    tops = [round(axes.get_position().y1, 3) for axes in figure.axes]
    assert len(set(tops)) > 1
    assert tops == sorted(tops, reverse=True)


@pytest.mark.long
def test_attention_has_queries_down_from_the_top_and_keys_across_on_one_scale():
    figure = plots.plot_attention(HEADS[0, :3, :4], HOSTILE[:3], HOSTILE)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == HOSTILE[:3]
    assert [label.get_text() for label in axes.get_xticklabels()] == [*HOSTILE[:3], "↵"]
    assert axes.yaxis_inverted()
    assert axes.collections[0].get_clim() == (0, 1)
    assert not plots.plot_attention(torch.eye(24), ["x"] * 24, ["y"] * 24).axes[0].texts  # too small for numbers


@pytest.mark.parametrize("tokens", [7, 24])
@pytest.mark.long
def test_heads_keep_their_order_and_their_tokens_do_not_touch(tokens):
    names = [f"word{i}" for i in range(tokens)]
    figure = plots.plot_attention_heads({"layer": torch.eye(tokens).expand(5, -1, -1)}, names, names)
    assert [axes.get_title() for axes in figure.axes[:5]] == [f"head {i}" for i in range(1, 6)]
    boxes = [label.get_window_extent() for label in figure.axes[4].get_xticklabels()]
    assert all(left.x1 <= right.x0 + 1 for left, right in pairwise(boxes))


def test_rotation_names_its_angle_and_ends_its_arc_at_the_second_hand():
    axes = drawn_once("rotation").axes[0]
    across, up = axes.lines[-1].get_xydata()[-1]
    assert math.atan2(across, up) == pytest.approx(math.atan2(*TABLE[8, 4:6].tolist()), abs=1e-5)
    assert f"{ANGLE:.3f} rad = {math.degrees(ANGLE):.1f}°" in axes.get_title()


@pytest.mark.long
def test_curves_differ_in_colour_dash_and_marker_and_their_names_do_not_touch():
    axes = plots.plot_lines([0, 1], {name: [0, 1 + i / 1000] for i, name in enumerate("abcd")}, "x", "y").axes[0]
    curves = [line for line in axes.lines if line.get_gid() == "curve"]
    for style in ("color", "linestyle", "marker"):
        assert len({str(getattr(curve, f"get_{style}")()) for curve in curves}) == 4
    assert len(axes.texts) == 4
    assert not overlapping([text.get_window_extent() for text in axes.texts])
    long = drawn_once("schedule").axes[0]
    assert long.get_legend().get_texts()[0].get_text() == "warm-up of 10 steps, d_model 512"  # above the axes


def test_a_band_reaches_from_the_lowest_seed_to_the_highest():
    axes = drawn_once("lines").axes[0]
    (band,) = axes.collections  # only the series with seeds has one
    corners = {(x, round(y, 6)) for x, y in band.get_paths()[0].vertices.tolist()}
    assert {(4, 1.0), (4, 0.8), (64, 0.5), (64, 0.3)} <= corners
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert [0.1, 0.1] in [list(line.get_ydata()) for line in axes.lines]  # the reference


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("architecture", (0,), "num_layers must be at least 1, got 0"),
        ("matrices", ({"M": torch.ones(3)},), r"matrices\['M'\] must have 2 dim.*\(3,\)"),
        ("matrices", ({"M": EYE}, None, None, -1), "decimals .* -1"),
        ("matrices", ({"M": EYE}, None, {"M": ["a"]}), "column_labels.* 2 "),
        ("matrices", ({"M": EYE}, None, None, 1, {"M": [(2, 0)]}), r"highlight.*\(2, 0\)"),
        ("attention", (EYE * 3, ["a", "b"], ["a", "b"]), "weights .*softmax.* 3"),
        ("attention", (EYE, ["a"], ["a", "b"]), "queries must hold 2 labels.* 1"),
        ("attention", (EYE, "ab", ["a", "b"]), "queries .*'ab'"),
        ("attention_heads", ({"a": EYE[None, :1, :1], "b": torch.ones(2, 1, 1)}, "x", "x"), r"maps .* \[1, 2\]"),
        ("encoding", (torch.full((2, 2), math.inf),), "table must hold finite numbers"),
        ("waves", (TABLE, [16]), r"dimensions .*0\.\.15, got 16"),
        ("position_similarity", (TABLE, (10, 60)), r"positions .*0\.\.59, got 60"),
        ("rotation", (TABLE[0], TABLE[1, :2], 1.0, 0, 1), r"before .*\(2,\).*\(16,\)"),
        ("rotation", (TABLE[3, 4:6], TABLE[8, 4:6], -ANGLE, 2, 5), "angle must turn before clockwise"),
        ("lines", ([1, 2], {"a": [1]}, "x", "y"), r"series\['a'\] .*\(2\), got 1"),
        ("lines", ([0, 2], {"a": [1, 1]}, "x", "y", True), "x must be above 0.* 0"),
        ("bars", ({"a": 1.0}, "x", 2, {"b": 0.1}), "errors .*'b'"),
        ("distributions", ({"a": torch.ones(3)}, "x", 0), "bins .* 0"),
        ("training", ({"a": [1.0, 2.0]}, "x", "y", None, [1]), r"steps .*\(2\), got 1"),
        ("schedule", ({"a": []},), r"schedules\['a'\] must not be empty"),
        ("measures", ([1, 2], {"a": [1.0]}), r"measures\['a'\] must have as many values as steps \(2\), got 1"),
        ("vectors", ({"a": [1.0], "b": [1.0, 2.0]},), r"vectors must have the same length, got \[1, 2\]"),
        ("moves", ({"a": [1.0]}, ("b", (1, 1)), {"c": (0, 0)}, ("x", "y")), r"points\['a'\] must have shape \(2,\)"),
        ("one_and_two_heads", ([("dog", "bites")],), r"sentences\[0\] must hold 3 labels"),
        ("multi_head", (0,), "num_tokens must be at least 1, got 0"),
        ("classes", ({"a": (EYE, ("x", "y"))}, [1, 0], ("one",)), r"panels\['a'\] must have shape \(1, 2\)"),
        ("truncation", ({"a": {"cat": 1.5}}, {"cut": {"a": ["cat"]}}), r"distributions\['a'\]\['cat'\] .* 1.5"),
        ("draws", ({"a": {"cat": 2}}, {"a": {}}, ["cat"]), r"exact\['a'\]\['cat'\] must be a probability.* 2"),
    ],
)
def test_bad_input_names_argument_value_and_expectation(as_readers_run_it, name, arguments, message):
    before = plt.get_fignums()
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(plots, f"plot_{name}")(*arguments)
    assert plt.get_fignums() == before  # a refused picture leaves no half-drawn figure behind


@pytest.mark.parametrize("falls", [True, False])
def test_the_name_of_a_reference_stands_where_no_curve_runs_through_it(falls):
    steps = np.arange(25, 501, 25)
    losses = 0.82 + 4 * np.exp(-(steps if falls else 525 - steps) / 90)
    figure = plots.plot_training({"training": losses}, steps=steps, reference_lines={"floor": 0.8})
    figure.canvas.draw()
    axes = figure.axes[0]
    name = next(text for text in axes.texts if text.get_text() == "floor").get_window_extent()
    curve = axes.transData.transform(
        np.column_stack([np.linspace(25, 500, 400), np.interp(np.linspace(25, 500, 400), steps, losses)])
    )
    assert not any(name.contains(*point) for point in curve)
    plt.close(figure)
