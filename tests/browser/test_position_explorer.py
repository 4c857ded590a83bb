"""The position explorer, with PyTorch's numbers."""

import math
import re

import pytest
import torch

from tests.browser.figure_page import act, close, number, numbers, shown
from transformer_edu import sinusoidal_table
from transformer_edu.book.figures import PositionExplorer

PRODUCT, FOLDED = "[data-name=product]", "click summary"


def table_of(d_model, base, positions=128):
    """The table in float64, for any base; for 10,000 it is the package's own."""
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * base ** (
        -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    )
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    if base == 10_000:
        torch.testing.assert_close(sinusoidal_table(positions, d_model).double(), table, atol=1e-6, rtol=0)
    return table


def hands(page, which, where=".te-pos-clocks"):
    """(sin, cos) of every clock's hand."""
    return torch.stack([numbers(page.locator(f"{where} .{which}.te-pos-hand"), key) for key in ("sin", "cos")], dim=1)


def clocks(page):
    """The pairs of columns that are shown as a clock."""
    return numbers(page.locator(".te-pos-clocks .te-choice")).long()


def assert_shows(page, d_model, base, position, offset):
    table = table_of(d_model, base)
    expected = table[[position, position + offset]]
    close(shown(page, "rows"), expected)
    assert number(page, PRODUCT) == pytest.approx((expected[0] @ expected[1]).item(), abs=1e-4)
    assert page.locator(".te-pos-mark").all_text_contents() == [str(position), str(position + offset)]
    for which, row in (("te-pos-first", expected[0]), ("te-pos-second", expected[1])):
        close(hands(page, which), row.reshape(-1, 2)[clocks(page)])


@pytest.mark.parametrize("d_model", [4, 8, 16, 32, 64])
def test_both_rows_and_their_product_agree_with_the_table(page, d_model):
    act(page, FOLDED, f"combobox d_model = {d_model}", "combobox positions = 128")
    for position, offset in [(10, 3), (0, 0), (100, 27), (63, 64)]:
        act(page, f"slider distance, k = {offset}", f"slider first position, p = {position}")
        assert_shows(page, d_model, 10_000, position, offset)


def test_heatmap_is_painted_with_the_signs_of_the_table(page):
    pixels = page.locator("canvas").evaluate(
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
        ".filter((_, i) => i % 4 === 0 || i % 4 === 2)"
    )
    red, blue = torch.tensor(pixels, dtype=torch.float64).reshape(64, 16, 2).unbind(dim=-1)
    table = table_of(16, 10_000, 64)
    clear = table.abs() > 0.1
    assert torch.equal((red > blue)[clear], (table > 0)[clear])


def test_click_in_the_heatmap_chooses_row_and_pair(page):
    box = page.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 11.5 / 16, box["y"] + box["height"] * 20.5 / 64)
    act(page, FOLDED)
    assert_shows(page, 16, 10_000, 20, 3)
    assert page.locator(".te-pos-clocks [aria-checked=true]").get_attribute("data-value") == "5"


def test_many_pairs_show_six_clocks_with_the_chosen_one(show):
    page = show(PositionExplorer(d_model=64, pair=6))
    pairs = clocks(page).tolist()
    assert len(pairs) == 6
    assert pairs == sorted(pairs)
    assert {0, 6, 31} <= set(pairs)


@pytest.mark.parametrize(("position", "offset", "other"), [(10, 3, 40), (50, 5, 20), (0, 0, 30)])
def test_the_chosen_clock_stands_twice_with_other_hands_and_the_same_angle(page, position, offset, other):
    act(page, f"slider distance, k = {offset}", f"slider first position, p = {position}")
    table = table_of(16, 10_000)[:, 2:4]
    for which, further in (("te-pos-first", 0), ("te-pos-second", offset)):
        close(hands(page, which, ".te-pos-large"), table[[position + further, other + further]])
    angle = f"{math.degrees(offset * 10_000 ** (-1 / 8)):.1f}°"
    assert page.locator(".te-pos-angle").all_text_contents() == [angle, angle]


def test_curve_passes_through_the_product_of_every_offset(page):
    table = table_of(16, 10_000)
    act(page, FOLDED)
    path = page.locator("path.te-pos-curve").get_attribute("d")
    pairs = re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)
    points = torch.tensor([[float(x), float(y)] for x, y in pairs], dtype=torch.float64)
    offsets = torch.linspace(0, 63, len(points), dtype=torch.float64)
    thetas = 10_000.0 ** (-torch.arange(0, 16, 2, dtype=torch.float64) / 16)
    products = (offsets[:, None] * thetas).cos().sum(dim=1)
    scale = (points[:, 1].min() - points[:, 1].max()) / (products.max() - products.min())
    close(points[:, 1], points[0, 1] + (products - products[0]) * scale, atol=0.02)
    assert products[0] == pytest.approx((table[5] @ table[5]).item())


def test_moving_both_turns_every_clock_and_keeps_every_angle_and_the_product(page):
    angles = page.locator(".te-pos-clocks b")
    before, first = number(page, PRODUCT), hands(page, "te-pos-first")
    told = [f"{math.degrees(3 * 10_000 ** (-pair / 8)):.1f}°" for pair in (0, 1, 2, 3, 5, 7)]
    assert angles.all_text_contents() == told
    act(page, "slider first position, p = 41")
    assert number(page, PRODUCT) == pytest.approx(before, abs=1e-9)
    assert angles.all_text_contents() == told
    assert (hands(page, "te-pos-first") - first).abs().amax(dim=1).min() > 1e-4
    act(page, "slider distance, k = 4")
    assert angles.all_text_contents() != told


def test_a_smaller_base_and_a_shorter_table(show):
    page = show(PositionExplorer(positions=128, position=100, offset=20))
    act(page, FOLDED, "combobox positions = 32")
    assert_shows(page, 16, 10_000, 15, 16)
    act(page, "slider base = 2")
    assert_shows(page, 16, 100, 15, 16)


def test_the_first_rows_number_never_stands_on_a_tick(page):
    apart = """() => [...document.querySelectorAll('.te-pos-ticks span')].filter((tick) => {
        const [a, b] = [tick, document.querySelector('.te-pos-mark')].map((one) => one.getBoundingClientRect());
        return getComputedStyle(tick).visibility === 'visible' && a.top < b.bottom - 2 && b.top < a.bottom - 2;
    }).map((tick) => tick.textContent)"""
    for width in (720, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for position in range(64):
            act(page, f"slider first position, p = {position}")
            assert page.evaluate(apart) == [], f"at p = {position}"
