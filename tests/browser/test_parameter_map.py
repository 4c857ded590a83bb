"""The parameter map: every count is the model's."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from tests.browser.figure_page import Show
from transformer_edu import Transformer, TransformerConfig
from transformer_edu.widgets import ParameterMap
from transformer_edu.widgets.parameter_map import group_sizes, part_names

Open = Callable[..., Page]
PAPER = {"source_vocab_size": 37_000, "target_vocab_size": 37_000, "d_model": 512, "num_heads": 8, "d_ff": 2048}
PAPER |= {"num_layers": 6}
PARTS = {"query_projection": "w_q", "key_projection": "w_k", "value_projection": "w_v", "output_projection": "w_o"}


@pytest.fixture
def open_map(show: Show) -> Open:
    def open_page(width: int = 800, **options: Any) -> Page:
        return show(ParameterMap(**options), width=width, height=900)

    return open_page


def model_counts(config: TransformerConfig) -> Counter[str]:
    """Parameters of each attention projection, and the total, by the map's names."""
    with torch.device("meta"):  # shapes without memory
        model = Transformer(config)
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        counts["total"] += parameter.numel()
        stack, *path = name.split(".")
        projection = next((PARTS[part] for part in path if part in PARTS), None)
        if projection:
            cross = "cross." if "cross_attention" in path else ""
            layer = next(part for part in path if part.isdigit())
            counts[f"{stack}.{layer}.{cross}{projection}"] += parameter.numel()
        elif stack in ("encoder", "decoder"):
            counts[f"{stack}.rest"] += parameter.numel()
        else:
            counts["tables"] += parameter.numel()
    return counts


def shown_parts(page: Page) -> dict[str, int]:
    found = page.locator("[role=option]").evaluate_all("nodes => nodes.map(n => [n.dataset.part, +n.dataset.value])")
    return {name: int(value) for name, value in found}


def total(page: Page) -> int:
    return int(page.locator("[data-total]").get_attribute("data-value") or -1)


def assert_counts(page: Page, **fields: Any) -> None:
    config = TransformerConfig(**(PAPER | {"tie_embeddings": "all"} | fields))
    expected, parts = model_counts(config), shown_parts(page)
    assert sorted(parts) == sorted(part_names(config))
    assert total(page) == sum(parts.values()) == expected["total"]
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
def test_map_counts_what_the_model_has(options: dict[str, Any], open_map: Open) -> None:
    assert_counts(open_map(**options), **options)


def test_presets_and_every_number_by_mouse(open_map: Open) -> None:
    page = open_map()
    assert total(page) == 63_082_496
    page.get_by_role("radio", name="big").click()
    assert total(page) == 214_245_376
    page.get_by_role("radio", name="book").click()
    book = ParameterMap("book").config()
    assert total(page) == sum(group_sizes(book).values())
    page.get_by_role("button", name="Reset").click()
    page.get_by_label("double: d model").click()
    assert_counts(page, d_model=1024, d_ff=4096)
    expect(page.locator(".te-pm-words")).to_contain_text("tables × 2.00, encoder × 4.00, decoder × 4.00")
    page.get_by_label("follows").uncheck()
    page.get_by_label("halve: d model").click()
    assert_counts(page, d_ff=4096)
    page.get_by_label("one more: layers").click()
    assert_counts(page, d_ff=4096, num_layers=7)
    page.get_by_label("halve: source words").click()
    now = {"d_ff": 4096, "num_layers": 7, "source_vocab_size": 18_500, "target_vocab_size": 18_500}
    assert_counts(page, **now)
    page.get_by_label("tied tables").select_option("none")
    assert_counts(page, **now, tie_embeddings="none")


def boxes(page: Page) -> list[list[float]]:
    return page.locator("[role=option]").evaluate_all(
        "nodes => nodes.map(n => n.getBoundingClientRect()).map(({x, y, width, height}) => [x, y, width, height])"
    )


def test_more_heads_move_nothing(open_map: Open) -> None:
    page = open_map()
    before = boxes(page)
    page.get_by_label("double: heads").click()
    assert boxes(page) == before
    expect(page.locator(".te-pm-words")).to_contain_text("not one number more or less")
    expect(page.locator(".te-pm-details")).to_contain_text("16 heads share it, 32 dimensions each")


@pytest.mark.parametrize("width", [800, 390])
def test_areas_are_proportional_to_the_weights(width: int, open_map: Open) -> None:
    page = open_map(width, d_ff=3000, tie_embeddings="none", target_vocab_size=9000)
    areas = page.locator("[role=option]:not(.te-pm-norm)").evaluate_all(
        "nodes => nodes.map(node => [node.dataset.part, (node.matches('.te-pm-table') ? [...node.children] : [node])"
        ".map(n => n.getBoundingClientRect()).reduce((sum, box) => sum + box.width * box.height, 0)])"
    )
    columns = {"w_1": 3000, "w_2": 3000, "source": 37_000, "target": 9000, "projection": 9000}
    scale = [area / columns.get(name.split(".")[-1], 512) for name, area in areas]
    assert max(scale) / min(scale) == pytest.approx(1, abs=0.02)


def test_what_is_no_model_is_explained(open_map: Open) -> None:
    page = open_map()
    words = page.locator(".te-pm-words")
    page.locator("[data-field=num_heads]").fill("7")
    page.keyboard.press("Enter")
    expect(words).to_contain_text("cannot be cut into 7 heads of one length: 512 ÷ 7 = 73.14. 4 or 8 heads would do.")
    assert total(page) == 63_082_496
    page.locator("[data-field=num_heads]").fill("many")
    page.keyboard.press("Enter")
    expect(words).to_contain_text("“many” is not")
    assert page.locator("[data-field=num_heads]").get_attribute("aria-invalid") == "true"
    page.locator("[data-field=num_heads]").fill("8")
    page.locator("[data-field=d_model]").fill("9000")
    page.keyboard.press("Enter")
    expect(words).to_contain_text("at most 8,192")
    page.get_by_role("radio", name="book").click()
    page.get_by_label("tied tables").select_option("all")
    expect(words).to_contain_text("92 and 127 words differ")
    page.get_by_role("button", name="Reset").click()
    assert_counts(page)


def test_a_clicked_matrix_is_described(open_map: Open) -> None:
    page = open_map()
    page.locator("[data-part='decoder.5.cross.w_k']").click()
    details = page.locator(".te-pm-details")
    expect(details).to_contain_text("key projection")
    expect(details).to_contain_text("decoder layer 6, cross-attention")
    assert page.locator("[data-chosen]").get_attribute("data-value") == str(512 * 512 + 512)
    page.locator("[data-part='encoder.2.w_2']").click()
    expect(details).to_contain_text("2,048 × 512 and a bias of 512 = 1,049,088")
    page.locator("[data-part='decoder.0.norms']").click()
    expect(details).to_contain_text("3 layer norms")
    assert page.locator("[aria-selected=true]").count() == 1
