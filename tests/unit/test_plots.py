"""The book's pictures: they draw the right data, label it, print tokens as they are, and leave no trace."""

import io
import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text

from transformer_edu import plots
from transformer_edu.plots.lines import spread
from transformer_edu.plots.style import COLOURS, SIGNED, ink_on, number, plain_number
from transformer_edu.positional import sinusoidal_table

SOURCE = ["the", "small", "black", "cat", "does", "not", "sleep"]
TARGET = ["le", "petit", "chat", "noir", "ne", "dort", "pas"]
EYE = torch.eye(2)
HOSTILE = ["$x$", "<img src=x onerror=alert(1)>", "a_b^c"]
TABLE = sinusoidal_table(60, 16)
THETA_2 = 10_000 ** (-2 * 2 / 16)  # angle of pair 2 in radians for each position


def softmax_rows(*shape: int) -> torch.Tensor:
    """Attention weights of the given shape, the same at every call."""
    scores = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    return (2 * scores).softmax(-1)


PICTURES: dict[str, Callable[[], Figure]] = {
    "architecture": plots.plot_architecture,
    "matrices": lambda: plots.plot_matrices(
        {"Q": torch.arange(6.0).reshape(2, 3), "scores": torch.tensor([[-1.5, math.inf], [math.nan, 2.0]])},
        row_labels={"Q": ["the", "cat"]},
        column_labels={"scores": ["the", "cat"]},
        highlight={"Q": [(0, 1)]},
    ),
    "attention": lambda: plots.plot_attention(softmax_rows(7, 7), TARGET, SOURCE, title="head 1"),
    "heads": lambda: plots.plot_attention_heads({"encoder.0.self": softmax_rows(2, 7, 7)}, SOURCE, SOURCE, "heads"),
    "over_training": lambda: plots.plot_attention_over_training(
        [(step, softmax_rows(7, 7)) for step in (0, 50, 200, 1000, 2000)], TARGET, SOURCE
    ),
    "encoding": lambda: plots.plot_encoding(TABLE),
    "waves": lambda: plots.plot_waves(TABLE, [0, 4, 8]),
    "similarity": lambda: plots.plot_position_similarity(TABLE),
    "pairs": lambda: plots.plot_position_pairs(TABLE, [0, 2, 4, 6], range(8)),
    "rotation": lambda: plots.plot_rotation(TABLE[3, 4:6], TABLE[8, 4:6], 5 * THETA_2, pair=2, offset=5),
    "lines": lambda: plots.plot_lines(
        [4, 64, 512],
        {"unscaled": [4, 64, 512], "scaled": [1, 1, 1]},
        "d_k",
        "variance",
        x_log=True,
        y_log=True,
        title="variance of the scores",
    ),
    "gradient_norms": lambda: plots.plot_gradient_norms(
        {"post-norm": [[1e-3, 1e-2, 0.1], [3e-3, 2e-2, 0.3]], "pre-norm": [0.5, 0.6], "no residual": [1e-9, 1e-5, 0.1]},
        title="24 layers",
        reference_lines={"clipped here": 1},
    ),
    "groups": lambda: plots.plot_groups(
        {"before": torch.tensor([[1.0, 3.0], [10.0, 30.0]]), "after": torch.tensor([[-1.0, 1.0], [-1.0, 1.0]])},
        ["feature 0", "feature 1"],
        "value",
        "feature",
    ),
    "bars": lambda: plots.plot_bars({"complete": 98.7, "no positions": -3}, "change (%)", 1, errors={"complete": 0.4}),
    "distributions": lambda: plots.plot_distributions({"before": 3 + softmax_rows(50, 4), "after": TABLE}, "value"),
    "weight_rows": lambda: plots.plot_weight_rows(
        {f"d_k = {d}": softmax_rows(4) for d in (4, 64, 512, 1024)}, ["the", "small", "black", "cat"]
    ),
    "training": lambda: plots.plot_training(
        {"warm-up": [[3.0, 2.0, 1.0], [3.2, 2.2, 1.4]], "no warm-up": [3.0, 2.9, 2.5]}, reference_lines={"guess": 2.7}
    ),
    "schedule": lambda: plots.plot_schedule({"warm-up of 10 steps, d_model 512": [s * 1e-4 for s in range(1, 11)]}),
    "parameters": lambda: plots.plot_parameter_counts(
        {"base": {"embedding": 18_944_000, "norms": 30_720}, "big": {"embedding": 37_888_000, "attention": 25_190_400}}
    ),
}
every_picture = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=50, format="png")
    return buffer.getvalue()


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def tick_labels(figure: Figure, axis: str) -> list[str]:
    return [label.get_text() for label in getattr(figure.axes[0], f"get_{axis}ticklabels")()]


def mesh_of(axes: Any) -> QuadMesh:
    return next(child for child in axes.collections if isinstance(child, QuadMesh))


def curves(figure: Figure) -> dict[str, np.ndarray]:
    return {str(line.get_label()): line.get_xydata() for line in figure.axes[0].lines if line.get_gid() == "curve"}


def contrast(first: Any, second: Any) -> float:
    """WCAG contrast of two colours, written from its definition."""

    def luminance(colour: Any) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


# What holds for every picture


def test_every_public_function_is_tried_here() -> None:
    assert len(PICTURES) == len(plots.__all__)


@every_picture
def test_the_readers_settings_are_untouched_and_have_no_influence(draw: Callable[[], Figure]) -> None:
    expected = png(draw())
    odd = {"font.size": 30, "axes.facecolor": "red", "text.parse_math": True, "axes.labelpad": 40, "axes.titlepad": 40}
    with plt.rc_context(odd):
        before = dict(plt.rcParams)
        figure = draw()
        assert dict(plt.rcParams) == before
        assert png(figure) == expected  # also: the same bytes twice


@every_picture
def test_returns_a_white_figure_and_never_shows_it(draw: Callable[[], Figure], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("plt.show() was called"))
    figure = draw()
    assert isinstance(figure, Figure)
    assert to_rgb(figure.get_facecolor()) == (1, 1, 1)
    assert figure.get_figwidth() <= 7.5


@every_picture
def test_type_is_large_enough_and_never_read_as_a_formula(draw: Callable[[], Figure]) -> None:
    written = [text for text in draw().findobj(Text) if text.get_text()]
    assert written
    assert min(text.get_fontsize() for text in written) >= 9
    assert not any(text.get_parse_math() or text.get_usetex() for text in written)


@every_picture
def test_no_text_leaves_the_figure(draw: Callable[[], Figure]) -> None:
    figure = draw()
    box = figure.get_tightbbox()
    assert box.x0 > -0.05
    assert box.y0 > -0.05
    assert box.x1 < figure.get_figwidth() + 0.05
    assert box.y1 < figure.get_figheight() + 0.05


@pytest.mark.parametrize("colours", [plt.get_cmap("cividis"), SIGNED], ids=["magnitude", "signed"])
def test_text_on_every_cell_colour_has_enough_contrast(colours: Any) -> None:
    for share in np.linspace(0, 1, 101):
        assert contrast(ink_on(colours(share)[:3]), colours(share)[:3]) >= 4.5


def test_line_colours_can_be_written_in_on_white() -> None:
    assert min(contrast(colour, "white") for colour in COLOURS) >= 4.5
    assert len(set(COLOURS)) == len(COLOURS)


@pytest.mark.parametrize(
    ("value", "decimals", "signed", "text"),
    [
        (-0.04, 1, True, "0.0"),
        (2, 0, True, "+2"),
        (-2.5, 1, False, "−2.5"),
        (-math.inf, 1, False, "−∞"),
        (math.inf, 1, False, "∞"),
        (math.nan, 1, True, "NaN"),
        (12345.6, 1, False, "12,345.6"),
    ],
)
def test_numbers_are_printed_as_in_a_book(value: float, decimals: int, signed: bool, text: str) -> None:
    assert number(value, decimals, signed) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (-0.5, "−0.5"), (1000, "1,000"), (2e-5, "2e-05")])
def test_tick_labels_are_plain(value: float, text: str) -> None:
    assert plain_number(value) == text


# The drawing of the model


@pytest.mark.parametrize("num_layers", [1, 6, 1000])
def test_architecture_names_every_part_mask_and_shape(num_layers: int) -> None:
    written = Counter(texts(plots.plot_architecture(num_layers)))
    twice = ["embedding × √d_model", "+ positional encoding", "feed-forward", f"× {num_layers:,}"]
    assert [written[text] for text in twice] == [2] * len(twice)
    assert written["add & norm"] == 2 + 3  # the encoder layer's and the decoder layer's
    ends = {"source ids", "target ids (so far)", "memory", "projection", "logits", "encoder layer", "decoder layer"}
    attention = {"self-attention", "masked self-attention", "cross-attention", "queries", "keys, values"}
    masks = {"padding mask", "causal + padding mask", "source padding mask"}
    shapes = {"(batch, source_seq)", "(batch, source_seq, d_model)", "(batch, seq)", "(batch, seq, d_model)"}
    assert ends | attention | masks | shapes | {"(batch, seq, vocab)"} <= written.keys()


def test_architecture_words_touch_neither_each_other_nor_the_edge_of_a_box() -> None:
    figure = plots.plot_architecture()
    words = [text.get_window_extent().padded(4) for text in figure.axes[0].texts]  # pixels of air around each
    assert not any(words[i].overlaps(words[j]) for i in range(len(words)) for j in range(i))
    boxes = [box.get_window_extent() for box in figure.axes[0].patches if isinstance(box, FancyBboxPatch)]
    assert len(boxes) >= 2 * 3 + 4 + 6 + 3 + 2  # before the layers; in them; after them; frames
    for word in words:
        for box in boxes:
            inside = box.x0 < word.x0 and word.x1 < box.x1 and box.y0 < word.y0 and word.y1 < box.y1
            assert inside or not word.overlaps(box)


def test_architecture_puts_parts_in_the_order_of_the_data_and_arrows_where_they_belong() -> None:
    axes = plots.plot_architecture().axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    decoder = ["target ids (so far)", "masked self-attention", "cross-attention", "projection", "logits"]
    for column in (["source ids", "self-attention", "encoder layer", "memory"], decoder):
        assert [places[name][1] for name in column] == sorted(places[name][1] for name in column)
    arrows = [arrow._path_original.vertices for arrow in axes.patches if isinstance(arrow, FancyArrowPatch)]
    across = [arrow for arrow in arrows if arrow[0][0] < 3.5 < arrow[-1][0]]
    assert len(across) == 1  # memory to cross-attention, the only way from the encoder to the decoder
    assert across[0][0][1] == pytest.approx(places["memory"][1], abs=0.1)
    assert across[0][-1][1] == pytest.approx(places["cross-attention"][1], abs=0.2)
    bypasses = [arrow for arrow in arrows if len(arrow) == 4 and arrow[0][1] < 6 and arrow is not across[0]]
    assert len(bypasses) == 2 + 3
    sums = sorted(text.get_position()[1] for text in axes.texts if text.get_text() == "add & norm")
    np.testing.assert_allclose(sorted(arrow[-1][1] for arrow in bypasses), sums, atol=0.01)


# Tables and heatmaps


def test_matrices_show_every_number_and_sign() -> None:
    figure = plots.plot_matrices(
        {"Q": torch.tensor([[1.0, -2.0]]), "A": torch.tensor([[0.25], [-math.inf]])}, decimals=2
    )
    assert [text.get_text() for text in figure.axes[0].texts] == ["+1.00", "−2.00", "Q", "1 × 2"]
    assert [text.get_text() for text in figure.axes[1].texts] == ["0.25", "−∞", "A", "2 × 1"]
    assert mesh_of(figure.axes[0]).get_array().tolist() == [[1, -2]]
    assert mesh_of(figure.axes[0]).norm.vmin == -mesh_of(figure.axes[0]).norm.vmax


def test_matrices_print_numbers_in_readable_ink_on_the_cells_real_colours() -> None:
    figure = plots.plot_matrices({"M": torch.linspace(-3, 3, 20).reshape(4, 5)})
    cells = mesh_of(figure.axes[0]).get_facecolors()
    inks = [text.get_color() for text in figure.axes[0].texts[:20]]
    assert min(contrast(ink, cell[:3]) for ink, cell in zip(inks, cells, strict=True)) >= 4.5


def test_matrices_frame_the_highlighted_cell() -> None:
    figure = plots.plot_matrices({"M": torch.eye(3)}, highlight={"M": [(2, 1)]})
    frames = {patch.get_xy() for patch in figure.axes[0].patches}
    assert frames == {(0.5, 1.5)}  # column 1, row 2: corner half a cell up and left


def test_matrices_that_are_too_wide_for_one_line_go_to_the_next() -> None:
    figure = plots.plot_matrices({f"M{i}": torch.eye(4) for i in range(6)})
    tops = [round(axes.get_position().y1, 3) for axes in figure.axes]
    assert len(set(tops)) > 1
    assert tops == sorted(tops, reverse=True)


def test_attention_draws_weights_and_names_rows_as_queries_and_columns_as_keys() -> None:
    weights = softmax_rows(2, 3)
    figure = plots.plot_attention(weights, ["le", "chat"], ["the", "black", "cat"], title="cross")
    axes = figure.axes[0]
    np.testing.assert_allclose(mesh_of(axes).get_array(), weights)
    assert tick_labels(figure, "y") == ["le", "chat"]
    assert tick_labels(figure, "x") == ["the", "black", "cat"]
    assert axes.yaxis_inverted()  # the first query is on top
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("key (looked at)", "query (who looks)", "cross")
    assert [text.get_text() for text in axes.texts] == [f"{weight:.2f}" for weight in weights.flatten().tolist()]
    assert mesh_of(axes).get_clim() == (0, 1)


def test_attention_too_large_for_numbers_has_colours_only() -> None:
    figure = plots.plot_attention(softmax_rows(24, 24), ["x"] * 24, ["y"] * 24)
    assert not figure.axes[0].texts


def test_tokens_stay_literal_text() -> None:
    figure = plots.plot_attention(softmax_rows(3, 3), HOSTILE, [*HOSTILE[:2], "\n"])
    assert tick_labels(figure, "y") == HOSTILE
    assert tick_labels(figure, "x") == [*HOSTILE[:2], "↵"]
    width = figure.axes[0].get_yticklabels()[0].get_window_extent().width
    assert width > 2 * 72 / 10  # three characters, not the one letter of a formula


def test_heads_stand_in_rows_of_layers_on_one_scale() -> None:
    maps = {"encoder.0.self": softmax_rows(4, 7, 7), "encoder.1.self": softmax_rows(4, 7, 7).flip(0)}
    figure = plots.plot_attention_heads(maps, SOURCE, SOURCE)
    drawn = torch.stack([torch.tensor(mesh_of(axes).get_array()) for axes in figure.axes[:8]])
    torch.testing.assert_close(drawn.float(), torch.cat(list(maps.values())))
    assert [axes.get_title() for axes in figure.axes[:8]] == ["head 1", "head 2", "head 3", "head 4"] * 2
    assert [axes.get_ylabel() for axes in figure.axes[:8:4]] == list(maps)
    assert {mesh_of(axes).get_clim() for axes in figure.axes[:8]} == {(0, 1)}
    assert {"key (looked at)", "query (who looks)", "attention weight"} <= set(texts(figure))


def test_eight_heads_take_two_rows_and_keep_their_order() -> None:
    maps = softmax_rows(8, 7, 7)
    figure = plots.plot_attention_heads({"layer 1": maps}, SOURCE, SOURCE)
    tops = [round(axes.get_position().y1, 3) for axes in figure.axes[:8]]
    assert len(set(tops)) == 2
    assert [axes.get_title() for axes in figure.axes[:8]] == [f"head {i}" for i in range(1, 9)]


@pytest.mark.parametrize("tokens", [7, 12, 24])
def test_neighbouring_tokens_of_a_grid_do_not_touch(tokens: int) -> None:
    names = [f"word{i}" for i in range(tokens)]
    figure = plots.plot_attention_heads({"layer": softmax_rows(4, tokens, tokens)}, names, names)
    last = [axes for axes in figure.axes if axes.get_title()][-1]
    boxes = [label.get_window_extent() for label in last.get_xticklabels()]
    assert all(left.x1 <= right.x0 + 1 for left, right in pairwise(boxes))


def test_attention_over_training_shows_steps_in_order() -> None:
    snapshots = [(0, softmax_rows(7, 7)), (1000, torch.eye(7))]
    figure = plots.plot_attention_over_training(snapshots, TARGET, SOURCE)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["step 0", "step 1,000"]
    np.testing.assert_array_equal(mesh_of(figure.axes[1]).get_array(), np.eye(7))


# Positions


def test_encoding_draws_the_table_around_zero() -> None:
    image = plots.plot_encoding(TABLE).axes[0].images[0]
    np.testing.assert_allclose(image.get_array(), TABLE)
    assert image.norm.vmin == -image.norm.vmax


def test_waves_draw_the_chosen_columns() -> None:
    figure = plots.plot_waves(TABLE, [0, 4])
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), TABLE[:, 4])
    assert {"dimension 0", "dimension 4", "position", "value"} <= set(texts(figure))


def test_similarity_curves_share_their_values_at_equal_offsets() -> None:
    figure = plots.plot_position_similarity(TABLE, positions=(10, 30))
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), TABLE @ TABLE.T, rtol=1e-5)
    first, second = (dict(line.get_xydata()) for line in figure.axes[1].lines)
    shared = first.keys() & second.keys()
    assert {-10, 0, 29} <= shared
    assert max(abs(first[offset] - second[offset]) for offset in shared) < 1e-5


def test_pairs_put_position_zero_at_twelve_and_turn_clockwise() -> None:
    figure = plots.plot_position_pairs(TABLE, [1], [0, 1, 2])
    points = figure.axes[0].lines[-1].get_xydata()
    np.testing.assert_allclose(points, TABLE[:3, 2:4], atol=1e-6)
    np.testing.assert_allclose(points[0], [0, 1], atol=1e-6)
    assert points[1][0] > 0  # to the right of twelve o'clock
    assert [text.get_text() for text in figure.axes[0].texts][:2] == ["0", "2"]


def test_pair_numbers_never_overlap() -> None:
    axes = plots.plot_position_pairs(TABLE, [7], range(50)).axes[0]
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(boxes[i].overlaps(boxes[j]) for i in range(len(boxes)) for j in range(i))


def test_rotation_names_angle_and_ends_its_arc_at_the_second_hand() -> None:
    figure = PICTURES["rotation"]()
    across, up = figure.axes[0].lines[-1].get_xydata()[-1]
    assert math.atan2(across, up) == pytest.approx(math.atan2(*TABLE[8, 4:6].tolist()), abs=1e-5)
    assert f"{5 * THETA_2:.3f} rad = {math.degrees(5 * THETA_2):.1f}°" in figure.axes[0].get_title()


def test_rotation_refuses_the_wrong_sign() -> None:
    with pytest.raises(ValueError, match="angle must turn before clockwise"):
        plots.plot_rotation(TABLE[3, 4:6], TABLE[8, 4:6], -5 * THETA_2, pair=2, offset=5)


# Curves


def test_lines_draw_and_name_every_series_with_its_own_colour_dash_and_marker() -> None:
    figure = plots.plot_lines([1, 2, 4], {"$a$": [1, 2, 3], "b": torch.tensor([3.0, 2.0, 1.0])}, "x (s)", "y (m)")
    np.testing.assert_allclose(curves(figure)["$a$"], [[1, 1], [2, 2], [4, 3]])
    np.testing.assert_allclose(curves(figure)["b"], [[1, 3], [2, 2], [4, 1]])
    first, second = (line for line in figure.axes[0].lines if line.get_gid() == "curve")
    for style in ("color", "linestyle", "marker"):
        assert getattr(first, f"get_{style}")() != getattr(second, f"get_{style}")()
    assert {"$a$", "b", "x (s)", "y (m)"} <= set(texts(figure))


def test_line_names_that_would_touch_are_moved_apart() -> None:
    figure = plots.plot_lines([0, 1], {name: [0, 1 + i / 1000] for i, name in enumerate("abcde")}, "x", "y")
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 5
    assert not any(boxes[i].overlaps(boxes[j]) for i in range(5) for j in range(i))


def test_spread_keeps_order_distance_and_bounds() -> None:
    heights = spread([0.9, 0.1, 0.92, 0.11, 1.2], 0.1)
    assert np.argsort(heights).tolist() == np.argsort([0.9, 0.1, 0.92, 0.11, 1.2]).tolist()
    assert min(np.diff(sorted(heights))) >= 0.1 - 1e-9
    assert 0 <= min(heights) <= max(heights) <= 1


def test_logarithmic_axes_are_logarithmic_and_tick_the_given_points() -> None:
    figure = PICTURES["lines"]()
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("log", "log")
    assert tick_labels(figure, "x") == ["4", "64", "512"]


def test_lines_draw_the_mean_of_several_seeds_and_a_band_from_lowest_to_highest() -> None:
    series = {"RNN": torch.tensor([[1.0, 0.5], [0.8, 0.3]]), "attention": [1.0, 1.0]}
    figure = plots.plot_lines(
        [4, 64], series, "distance", "accuracy", title="copy task", reference_lines={"guess": 0.1}
    )
    np.testing.assert_allclose(curves(figure)["RNN"], [[4, 0.9], [64, 0.4]])
    (band,) = figure.axes[0].collections  # only the series with seeds has one
    corners = band.get_paths()[0].vertices
    assert {(4, 1.0), (4, 0.8), (64, 0.5), (64, 0.3)} <= {(x, round(y, 6)) for x, y in corners.tolist()}
    note = "copy task\nline: mean of 2 seeds; band: lowest to highest"
    assert {note, "guess", "RNN", "attention"} <= set(texts(figure))


def test_gradient_norms_stand_over_whole_layers_counted_from_one_on_a_logarithmic_axis() -> None:
    figure = PICTURES["gradient_norms"]()
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    np.testing.assert_allclose(curves(figure)["post-norm"], [[1, 2e-3], [2, 1.5e-2], [3, 0.2]])
    np.testing.assert_allclose(curves(figure)["pre-norm"], [[1, 0.5], [2, 0.6]])  # a shallower stack
    assert all(tick == int(tick) for tick in axes.get_xticks())
    assert {"post-norm", "pre-norm", "no residual", "clipped here", "norm of the gradient"} <= set(texts(figure))


def test_training_draws_mean_band_and_reference() -> None:
    figure = PICTURES["training"]()
    np.testing.assert_allclose(curves(figure)["warm-up"], [[1, 3.1], [2, 2.1], [3, 1.2]])
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (1.0, 3.2)
    assert "line: mean of 2 seeds; band: lowest to highest" in texts(figure)
    assert "guess" in texts(figure)
    assert [2.7, 2.7] in [list(line.get_ydata()) for line in figure.axes[0].lines]


def test_training_takes_the_steps_it_is_given() -> None:
    figure = plots.plot_training({"loss": [torch.tensor(3.0, requires_grad=True), 2.0]}, steps=[0, 100])
    np.testing.assert_allclose(curves(figure)["loss"], [[0, 3], [100, 2]])
    assert figure.axes[0].get_ylabel() == "loss in nats per token"


def test_schedule_counts_steps_from_one() -> None:
    figure = plots.plot_schedule({"warm-up": [1e-4, 2e-4]})
    np.testing.assert_allclose(curves(figure)["warm-up"], [[1, 1e-4], [2, 2e-4]])


def test_long_names_become_a_legend_above() -> None:
    figure = PICTURES["schedule"]()
    assert figure.axes[0].get_legend().get_texts()[0].get_text() == "warm-up of 10 steps, d_model 512"


# Bars and histograms


def test_bars_have_their_lengths_numbers_and_errors() -> None:
    figure = PICTURES["bars"]()
    assert [bar.get_width() for bar in figure.axes[0].patches] == [98.7, -3]
    assert {"98.7 ± 0.4", "−3.0", "change (%)"} <= set(texts(figure))
    assert tick_labels(figure, "y") == ["complete", "no positions"]


def test_weight_rows_share_the_scale_from_zero_to_one() -> None:
    weights = {"d_k = 4": softmax_rows(3), "d_k = 512": torch.tensor([0.0, 1.0, 0.0])}
    figure = plots.plot_weight_rows(weights, HOSTILE)
    for axes, (name, row) in zip(figure.axes, weights.items(), strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in axes.patches], row, rtol=1e-6)
        assert axes.get_title() == name
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert tick_labels(figure, "x") == HOSTILE


def test_distributions_print_mean_and_population_std() -> None:
    figure = plots.plot_distributions({"x": torch.tensor([[1.0, 3.0]]), "same": torch.ones(5)}, "value", bins=4)
    assert figure.axes[0].get_title() == "x\nmean 2.00, std 1.00"
    assert figure.axes[1].get_title() == "same\nmean 1.00, std 0.00"
    outline = figure.axes[0].collections[0].get_paths()[0].vertices
    assert outline[:, 1].max() == pytest.approx(1.0)  # half of the numbers in a bin half a unit wide


def test_groups_draw_every_number_the_mean_and_one_population_std_around_it() -> None:
    figure = PICTURES["groups"]()
    dots, spread_of, mean = (line.get_xdata() for line in figure.axes[0].lines[3:6])  # the second group
    assert sorted(dots) == [10, 30]
    assert list(spread_of) == [10, 30]  # 20 ± 10, divided by n
    assert list(mean) == [20]
    assert tick_labels(figure, "y") == ["feature 0", "feature 1"]
    assert figure.axes[0].yaxis_inverted()  # the first group is on top
    assert [axes.get_title() for axes in figure.axes] == ["before", "after"]


@pytest.mark.parametrize("share_x", [True, False])
def test_groups_share_a_scale_only_when_told(share_x: bool) -> None:
    samples = {"before": torch.tensor([[100.0, 300.0]]), "after": torch.tensor([[-1.0, 1.0]])}
    first, second = plots.plot_groups(samples, ["x"], "value", share_x=share_x).axes
    assert (first.get_xlim() == second.get_xlim()) is share_x


def test_parameter_counts_are_exact_and_added_up() -> None:
    figure = PICTURES["parameters"]()
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == [18_944_000, 30_720, 37_888_000, 25_190_400]
    printed = [text.get_text() for text in figure.axes[1].texts]
    assert printed[-2:] == [f"{18_944_000 + 30_720:,}", f"{37_888_000 + 25_190_400:,}"]
    assert {"30,720", "25,190,400", "none"} <= set(printed)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.bool])
def test_any_dtype_is_drawn(dtype: torch.dtype) -> None:
    figure = plots.plot_attention(EYE.to(dtype), ["a", "b"], ["a", "b"])
    np.testing.assert_array_equal(mesh_of(figure.axes[0]).get_array(), np.eye(2))


def test_tensors_with_a_gradient_are_drawn_and_keep_it() -> None:
    weights = softmax_rows(2, 2).requires_grad_()
    plots.plot_attention(weights, ["a", "b"], ["a", "b"])
    assert weights.requires_grad


# Bad input


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plots.plot_architecture(0), ValueError, "num_layers must be at least 1, got 0"),
        (lambda: plots.plot_architecture(2.5), TypeError, "(?s)num_layers.*2.5"),
        (lambda: plots.plot_architecture(True), TypeError, "num_layers must be a whole number.* True"),
        (lambda: plots.plot_matrices({}), ValueError, "matrices must not be empty"),
        (lambda: plots.plot_matrices([EYE]), TypeError, "matrices"),
        (lambda: plots.plot_matrices({"M": torch.ones(3)}), ValueError, r"matrices\['M'\] must have 2 dim.*\(3,\)"),
        (lambda: plots.plot_matrices({"M": EYE}, decimals=-1), ValueError, "decimals .* -1"),
        (lambda: plots.plot_matrices({"M": EYE}, row_labels={"N": ["a", "b"]}), ValueError, "row_labels .*'N'"),
        (lambda: plots.plot_matrices({"M": EYE}, column_labels={"M": ["a"]}), ValueError, "column_labels.* 2 "),
        (lambda: plots.plot_matrices({"M": EYE}, highlight={"M": [(2, 0)]}), ValueError, r"highlight.*\(2, 0\)"),
        (lambda: plots.plot_matrices({"M": EYE}, highlight={"M": [2]}), TypeError, "highlight"),
        (lambda: plots.plot_matrices({"M": EYE}, highlight=[(0, 0)]), TypeError, "highlight"),
        (
            lambda: plots.plot_attention(torch.ones(2, 2) * 3, ["a", "b"], ["a", "b"]),
            ValueError,
            "weights .*softmax.* 3",
        ),
        (lambda: plots.plot_attention(torch.full((1, 1), math.nan), ["a"], ["a"]), ValueError, "weights .*finite.*nan"),
        (lambda: plots.plot_attention(EYE, ["a"], ["a", "b"]), ValueError, "queries must hold 2 labels.* 1"),
        (lambda: plots.plot_attention(EYE, ["a", "b"], ["a", 7]), TypeError, "keys.*7"),
        (lambda: plots.plot_attention(EYE, "ab", ["a", "b"]), TypeError, "queries .*'ab'"),
        (lambda: plots.plot_attention("weights", ["a"], ["a"]), TypeError, "weights"),
        (lambda: plots.plot_attention(torch.ones(0, 2), [], ["a", "b"]), ValueError, "weights must not be empty"),
        (lambda: plots.plot_attention_heads({"l": EYE}, ["a"], ["a"]), ValueError, r"maps\['l'\] .*3 dim"),
        (
            lambda: plots.plot_attention_heads({"a": torch.ones(1, 1, 1), "b": torch.ones(2, 1, 1)}, ["x"], ["x"]),
            ValueError,
            r"maps .* \[1, 2\]",
        ),
        (lambda: plots.plot_attention_over_training([], ["a"], ["a"]), ValueError, "snapshots must not be empty"),
        (lambda: plots.plot_attention_over_training({}, ["a"], ["a"]), TypeError, "snapshots"),
        (lambda: plots.plot_attention_over_training([(-1, torch.eye(1))], ["a"], ["a"]), ValueError, "snapshots.* -1"),
        (lambda: plots.plot_encoding(torch.full((2, 2), math.inf)), ValueError, "table must hold finite numbers"),
        (lambda: plots.plot_waves(TABLE, [16]), ValueError, r"dimensions .*0\.\.15, got 16"),
        (lambda: plots.plot_waves(TABLE, [1.5]), TypeError, "(?s)dimensions.*1.5"),
        (lambda: plots.plot_waves(TABLE, []), ValueError, "dimensions must not be empty"),
        (lambda: plots.plot_waves(TABLE, "12"), TypeError, "(?s)dimensions.*'12'"),
        (lambda: plots.plot_position_similarity(TABLE, (10, 60)), ValueError, r"positions .*0\.\.59, got 60"),
        (lambda: plots.plot_position_pairs(TABLE[:, :3], [0], [0]), ValueError, r"table .*even.*\(60, 3\)"),
        (lambda: plots.plot_position_pairs(TABLE, [8], [0]), ValueError, r"pairs .*0\.\.7, got 8"),
        (lambda: plots.plot_rotation(TABLE[0], TABLE[1, :2], 1.0, 0, 1), ValueError, r"before .*\(2,\).*\(16,\)"),
        (lambda: plots.plot_rotation(TABLE[0, :2], TABLE[1, :2], 1.0, 0, 1.5), TypeError, "offset"),
        (lambda: plots.plot_lines([1, 2], {"a": [1]}, "x", "y"), ValueError, r"series\['a'\] .*\(2\), got 1"),
        (lambda: plots.plot_lines([0, 2], {"a": [1, 1]}, "x", "y", x_log=True), ValueError, "x must be above 0.* 0"),
        (lambda: plots.plot_lines([1], {"a": ["one"]}, "x", "y"), TypeError, r"series\['a'\] must hold numbers"),
        (lambda: plots.plot_lines([1], {3: [1]}, "x", "y"), TypeError, "series"),
        (lambda: plots.plot_lines([1, 2], {"a": [[1], [2]]}, "x", "y"), ValueError, r"series\['a'\] .*\(2\), got 1"),
        (lambda: plots.plot_lines([1], {"a": [1]}, "x", "y", reference_lines={"b": "c"}), TypeError, "reference.*'c'"),
        (lambda: plots.plot_gradient_norms({"a": [1.0, 0.0]}), ValueError, r"norms\['a'\] must be above 0.* 0"),
        (lambda: plots.plot_gradient_norms({"a": [1.0, math.inf]}), ValueError, r"norms\['a'\] must hold finite.*inf"),
        (lambda: plots.plot_gradient_norms({"a": ["x"]}), TypeError, r"norms\['a'\] must hold numbers"),
        (lambda: plots.plot_gradient_norms({"a": [1.0]}, reference_lines={"b": 0}), ValueError, "reference.* 0"),
        (lambda: plots.plot_groups({"a": EYE}, ["x"], "x"), ValueError, "groups must hold 2 labels.* 1"),
        (
            lambda: plots.plot_groups({"a": EYE, "b": torch.ones(3, 2)}, ["x", "y"], "x"),
            ValueError,
            r"samples\['b'\].* 3",
        ),
        (lambda: plots.plot_groups({"a": torch.ones(2)}, ["x", "y"], "x"), ValueError, r"samples\['a'\].*2 dimension"),
        (lambda: plots.plot_bars({"a": math.nan}, "x"), ValueError, r"values\['a'\].*nan"),
        (lambda: plots.plot_bars({"a": 1.0}, "x", errors={"b": 0.1}), ValueError, "errors .*'b'"),
        (lambda: plots.plot_bars({"a": 1.0}, "x", errors={"a": -0.1}), ValueError, r"errors\['a'\].*-0.1"),
        (lambda: plots.plot_weight_rows({"a": torch.tensor([2.0])}, ["x"]), ValueError, r"weights\['a'\].* 2"),
        (lambda: plots.plot_weight_rows({"a": torch.ones(1)}, ["x", "y"]), ValueError, "labels .* 1 labels.* 2"),
        (lambda: plots.plot_distributions({"a": torch.ones(3)}, "x", bins=0), ValueError, "bins .* 0"),
        (lambda: plots.plot_training({"a": [1.0, 2.0]}, steps=[1]), ValueError, r"steps .*\(2\), got 1"),
        (lambda: plots.plot_training({"a": [1.0]}, reference_lines={"b": math.inf}), ValueError, "reference.*inf"),
        (lambda: plots.plot_schedule({"a": []}), ValueError, r"schedules\['a'\] must not be empty"),
        (lambda: plots.plot_parameter_counts({"a": {"b": 1.5}}), TypeError, "groups"),
        (lambda: plots.plot_parameter_counts({"a": {"b": -1}}), ValueError, r"groups\['a'\]\['b'\].*-1"),
    ],
)
def test_bad_input_names_argument_value_and_expectation(
    call: Callable[[], Figure], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
    assert not plt.get_fignums()  # a refused picture leaves no half-drawn figure behind
