"""The parameter map: every count is the model's."""

from collections import Counter

import pytest
import torch

from tests.browser.figure_page import act, number
from transformer_edu import Transformer, TransformerConfig
from transformer_edu.book.figures import ParameterMap
from transformer_edu.book.figures.parameter_map import group_sizes, part_names

PAPER = {"source_vocab_size": 37_000, "target_vocab_size": 37_000, "d_model": 512, "num_heads": 8, "d_ff": 2048}
PAPER |= {"num_layers": 6}
PARTS = {"query_projection": "w_q", "key_projection": "w_k", "value_projection": "w_v", "output_projection": "w_o"}


def model_counts(config):
    """Parameters of each attention projection, and the total, by the map's names."""
    with torch.device("meta"):  # shapes without memory
        model = Transformer(config)
    counts = Counter()
    for name, parameter in model.named_parameters():
        counts["total"] += parameter.numel()
        stack, *path = name.split(".")
        projection = next((PARTS[part] for part in path if part in PARTS), None)
        if projection:
            cross = "cross." if "cross_attention" in path else ""
            layer = next(part for part in path if part.isdigit())
            counts[f"{stack}.{layer}.{cross}{projection}"] += parameter.numel()
        elif stack in ("encoder", "decoder"):
            counts["norms" if "norm" in path else "forward"] += parameter.numel()
        else:
            counts["tables"] += parameter.numel()
    return counts


def shown_parts(page):
    found = page.locator("[role=option]").evaluate_all("nodes => nodes.map(n => [n.dataset.part, +n.dataset.value])")
    return {name: int(value) for name, value in found}


def assert_counts(page, **fields):
    config = TransformerConfig(**(PAPER | {"tie_embeddings": "all"} | fields))
    expected, parts = model_counts(config), shown_parts(page)
    assert sorted(parts) == sorted(part_names(config))
    assert number(page, "[data-total]") == sum(parts.values()) + expected["norms"] == expected["total"]
    assert number(page, "[data-kind=forward]") == expected["forward"]
    for name in expected:
        if name.count(".") > 1:
            assert parts[name] == expected[name], name
    groups = page.locator("[data-group]").evaluate_all("nodes => nodes.map(node => +node.dataset.value)")
    assert groups == list(group_sizes(config).values())
    assert sum(value for name, value in parts.items() if name.startswith("table")) == expected["tables"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tie_embeddings": "none", "target_vocab_size": 20_000},
        {"tie_embeddings": "target", "source_vocab_size": 50, "num_heads": 16},
        {"d_model": 96, "num_heads": 12, "d_ff": 700, "num_layers": 9},
    ],
)
def test_map_counts_what_the_model_has(options, show):
    assert_counts(show(ParameterMap(**options)), **options)


def boxes(page):
    return page.locator("[role=option]").evaluate_all(
        "nodes => nodes.map(n => n.getBoundingClientRect()).map(({x, y, width, height}) => [x, y, width, height])"
    )


@pytest.mark.parametrize("width", [800, 390])
def test_areas_are_proportional_to_the_weights(width, show):
    page = show(ParameterMap(d_ff=3000, tie_embeddings="none", target_vocab_size=9000), width=width)
    names = page.locator("[role=option]").evaluate_all(
        "nodes => nodes.map(node => node.dataset.part.split('.').at(-1))"
    )
    columns = {"w_1": 3000, "w_2": 3000, "source": 37_000, "target": 9000, "projection": 9000}
    scale = [w * h / columns.get(name, 512) for name, (_, _, w, h) in zip(names, boxes(page), strict=True)]
    assert max(scale) / min(scale) == pytest.approx(1, abs=0.02)


def test_presets_and_every_number(page):
    assert number(page, "[data-total]") == 63_082_496
    act(page, "radio big")
    assert number(page, "[data-total]") == 214_245_376
    act(page, "radio book")
    assert number(page, "[data-total]") == sum(group_sizes(ParameterMap("book").config()).values())
    act(page, "radio base")
    now = {}
    for step, changed in (
        ("button double: d model", {"d_model": 1024, "d_ff": 4096}),
        ("checkbox follows = off", {}),
        ("button halve: d model", {"d_model": 512}),
        ("button one more: layers", {"num_layers": 7}),
        ("button halve: source words", {"source_vocab_size": 18_500, "target_vocab_size": 18_500}),
        ("combobox tied tables = none", {"tie_embeddings": "none"}),
    ):
        act(page, step)
        now |= changed
        assert_counts(page, **now)


def test_more_heads_move_nothing(page):
    before = boxes(page)
    act(page, "button double: heads")
    assert boxes(page) == before


def test_arrow_keys_walk_the_map(page):
    page.locator("[data-part='encoder.0.w_q']").click()
    for key, part in (("ArrowRight", "w_k"), ("ArrowDown", "w_v"), ("ArrowUp", "w_k"), ("ArrowLeft", "w_q")):
        act(page, f"key {key}")
        assert page.evaluate("document.activeElement.dataset.part") == f"encoder.0.{part}"
    assert page.locator("[aria-selected=true]").get_attribute("data-part") == "encoder.0.w_q"
    act(page, "key End")
    assert page.evaluate("document.activeElement.dataset.part") == "decoder.5.w_2"


def test_what_was_there_before_is_outlined_on_the_same_scale(page):
    act(page, "button double: d model")
    was = page.locator(".te-pm-layer").first.evaluate(
        "one => [one, one.lastChild].map(n => getComputedStyle(n, n === one ? '::after' : null).width)"
    )
    tables, layer = (page.locator(f".te-pm-{name}.te-pm-changed").count() for name in ("tables", "layer"))
    assert (tables, layer) == (1, 12)
    assert 2 * float(was[0][:-2]) == pytest.approx(float(was[1][:-2]), abs=0.1)
    act(page, "button one more: layers")  # no matrix is larger, and one layer is new
    assert page.locator(".te-pm-changed").count() == 0


def test_what_grows_says_by_how_much_beside_it(page):
    assert page.locator(".te-pm-times").count() == 0
    page.get_by_role("button", name="double: d model").click()
    assert page.locator(".te-pm-times").all_inner_texts() == ["×\u00a02.00", "×\u00a04.00", "×\u00a04.00"]


def test_the_outline_of_what_was_lies_behind_the_letters(page):
    page.locator(".te-pm-field[data-field=d_model]").press("ArrowUp")
    outline = "one => getComputedStyle(one, '::after').zIndex"
    behind = page.locator(".te-pm-layer.te-pm-changed").first.evaluate(outline)
    letters = page.locator(".te-pm-layer .te-pm-letter").evaluate_all("all => all.map(o => getComputedStyle(o).zIndex)")
    assert len(letters) > 0
    assert all(int(letter) > int(behind) for letter in letters)
