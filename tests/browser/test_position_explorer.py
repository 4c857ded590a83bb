"""The position explorer, with PyTorch's numbers."""

import json
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from tests.browser.figure_page import Show, matrix, slide
from transformer_edu import sinusoidal_table
from transformer_edu.widgets import PositionExplorer

MakePage = Callable[..., Page]


def table_of(d_model: int, base: float, positions: int = 128) -> Tensor:
    """The table in float64, for any base; for 10,000 it is the package's own."""
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * base ** (
        -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    )
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    if base == 10_000:
        torch.testing.assert_close(sinusoidal_table(positions, d_model).double(), table, atol=1e-6, rtol=0)
    return table


@pytest.fixture
def make_page(show: Show) -> MakePage:
    def make(**options: float) -> Page:
        return show(PositionExplorer(**options))

    return make


def rows(page: Page) -> Tensor:
    return matrix(page.locator("[data-matrix=rows]"))


def hands(page: Page, which: str) -> Tensor:
    """(sin, cos) of every clock's hand."""
    found = page.locator(f".te-pos-hand.{which}").evaluate_all("all => all.map(h => [h.dataset.sin, h.dataset.cos])")
    return torch.tensor([[float(value) for value in pair] for pair in found], dtype=torch.float64)


def product(page: Page) -> float:
    return float(page.locator("[data-name=product]").get_attribute("data-value") or "nan")


def angles(page: Page) -> list[str]:
    return page.locator(".te-pos-clocks b").all_text_contents()


def assert_shows(page: Page, d_model: int, base: float, position: int, offset: int) -> None:
    table = table_of(d_model, base)
    expected = table[[position, position + offset]]
    torch.testing.assert_close(rows(page), expected, atol=1e-4, rtol=0)
    assert product(page) == pytest.approx((expected[0] @ expected[1]).item(), abs=1e-4)
    expect(page.locator(".te-pos-mark")).to_have_text([str(position), str(position + offset)])
    if d_model <= 16:
        for which, row in (("te-pos-first", expected[0]), ("te-pos-second", expected[1])):
            torch.testing.assert_close(hands(page, which), row.reshape(-1, 2), atol=1e-4, rtol=0)


@pytest.mark.parametrize("d_model", [4, 8, 16, 32, 64])
def test_both_rows_and_their_product_agree_with_the_table(make_page: MakePage, d_model: int) -> None:
    page = make_page()
    page.get_by_label("d_model", exact=True).select_option(str(d_model))
    page.get_by_label("positions", exact=True).select_option("128")
    for position, offset in [(10, 3), (0, 0), (100, 27), (63, 64)]:
        slide(page, "k (distance)", offset)
        slide(page, "p (moves both)", position)
        assert_shows(page, d_model, 10_000, position, offset)


def test_base_of_one_hundred_makes_the_slow_columns_fast(make_page: MakePage) -> None:
    page = make_page()
    waves = page.locator(".te-pos-clocks .te-choice").last
    assert "wave 19,869" in waves.inner_text()
    slide(page, "base", 2)
    assert page.get_by_role("slider", name="base").get_attribute("aria-valuetext") == "100"
    assert_shows(page, 16, 100, 10, 3)
    assert "wave 353" in waves.inner_text()


def test_heatmap_is_painted_with_the_signs_of_the_table(make_page: MakePage) -> None:
    page = make_page()
    pixels = page.locator("canvas").evaluate(
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
        ".filter((_, i) => i % 4 === 0 || i % 4 === 2)"
    )
    red, blue = torch.tensor(pixels, dtype=torch.float64).reshape(64, 16, 2).unbind(dim=-1)
    table = table_of(16, 10_000, 64)
    clear = table.abs() > 0.1
    assert torch.equal((red > blue)[clear], (table > 0)[clear])


def test_click_in_the_heatmap_chooses_row_and_pair(make_page: MakePage) -> None:
    page = make_page()
    box = page.locator("canvas").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 11.5 / 16, box["y"] + box["height"] * 20.5 / 64)
    assert_shows(page, 16, 10_000, 20, 3)
    assert page.locator(".te-pos-clocks [aria-checked=true]").get_attribute("data-value") == "5"
    expect(page.get_by_text("Pair 5 as waves")).to_be_visible()


def test_many_pairs_show_eight_clocks_with_the_chosen_one(make_page: MakePage) -> None:
    page = make_page(d_model=64, pair=6)
    pairs = page.locator(".te-pos-clocks .te-choice").evaluate_all("all => all.map(one => Number(one.dataset.value))")
    assert len(pairs) == 8
    assert pairs == sorted(pairs)
    assert {0, 6, 31} <= set(pairs)
    thetas = torch.tensor([10_000 ** (-pair / 32) for pair in pairs], dtype=torch.float64)
    expected = torch.stack([(10 * thetas).sin(), (10 * thetas).cos()], dim=1)
    torch.testing.assert_close(hands(page, "te-pos-first"), expected, atol=1e-4, rtol=0)


def test_curve_passes_through_the_product_of_every_offset(make_page: MakePage) -> None:
    page = make_page()
    table = table_of(16, 10_000)
    ys = (
        page.locator(".te-pos-charts > div")
        .first.locator("path")
        .evaluate(
            "path => path.getAttribute('d').match(/-?[\\d.]+ -?[\\d.]+/g).map(pair => pair.split(' ').map(Number))"
        )
    )
    points = torch.tensor(json.loads(json.dumps(ys)), dtype=torch.float64)
    offsets = torch.linspace(0, 63, len(points), dtype=torch.float64)
    thetas = 10_000.0 ** (-torch.arange(0, 16, 2, dtype=torch.float64) / 16)
    products = (offsets[:, None] * thetas).cos().sum(dim=1)
    scale = (points[:, 1].min() - points[:, 1].max()) / (products.max() - products.min())
    torch.testing.assert_close(points[:, 1], points[0, 1] + (products - products[0]) * scale, atol=0.02, rtol=0)
    assert products[0] == pytest.approx((table[5] @ table[5]).item())
