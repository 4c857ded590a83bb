"""The position explorer's page, against the table, and what is dragged in it."""

import pytest
import torch

from tests.browser.figure_page import act, close, number, numbers, play, shown
from tests.unit.test_position_explorer import table_of

HAND = ".te-pos-large .te-pos-face >> nth=0"
APART = """() => [...document.querySelectorAll('.te-pos-tick')].filter((tick) => {
    const [a, b] = [tick, document.querySelector('.te-pos-mark')].map((one) => one.getBoundingClientRect());
    return getComputedStyle(tick).visibility === 'visible' && a.top < b.bottom - 2 && b.top < a.bottom - 2;
}).map((tick) => tick.textContent)"""


def assert_shows(page, position, offset, table=None):
    """Both rows, their product, the numbers beside the table, and the hands of all clocks."""
    table = table_of(16, 10_000) if table is None else table
    rows = table[[position, position + offset]]
    close(shown(page, "rows"), rows)
    assert number(page, "[data-measure=product]") == pytest.approx((rows[0] @ rows[1]).item(), abs=1e-4)
    assert page.locator(".te-pos-mark").all_text_contents() == [str(position), str(position + offset)]
    pairs = numbers(page.locator(".te-pos-clocks .te-choice")).long()
    for which, row in zip(("first", "second"), rows, strict=True):
        hands = page.locator(f".te-pos-clocks .te-pos-{which}.te-pos-hand")
        for key, found in zip(("sin", "cos"), row.reshape(-1, 2)[pairs].T, strict=True):
            close(numbers(hands, key), found)


def drag(page, box, start, end):
    """From one place of a box to another, as shares of its width and height."""
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in (start, end)]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=20)
    page.mouse.up()
    act(page, "hover .te-says")


def test_the_page_shows_what_was_derived(page):
    act(page, "click .te-details summary", "slider base = 2", "slider first position, p = 41")
    assert_shows(page, 41, 3, table_of(16, 100))
    pixels = page.locator("canvas").evaluate("c => [...c.getContext('2d').getImageData(0, 0, 16, 64).data]")
    red, _, blue, _ = torch.tensor(pixels).view(64, 16, 4).unbind(dim=-1)
    table = table_of(16, 100, 64)
    clear = table.abs() > 0.1
    assert torch.equal((red > blue)[clear], (table > 0)[clear])


def test_click_in_the_heatmap_chooses_row_and_pair(page):
    box = page.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 11.5 / 16, box["y"] + box["height"] * 20.5 / 64)
    act(page, "click .te-details summary")
    assert_shows(page, 20, 3)
    assert page.locator(".te-pos-clocks [aria-checked=true]").get_attribute("data-value") == "5"


def test_a_row_is_dragged_and_the_other_goes_along_or_is_further_away(page):
    act(page, "click .te-details summary")
    box = page.locator("canvas").bounding_box()
    drag(page, box, (0.9, 10.5 / 64), (0.9, 30.5 / 64))
    assert_shows(page, 30, 3)
    drag(page, box, (0.9, 33.5 / 64), (0.5, 43.5 / 64))
    assert_shows(page, 30, 13)
    drag(page, page.locator(".te-pos-mark").first.bounding_box(), (0.5, 0.5), (0.5, -6))
    assert_shows(page, 0, 13)


def test_a_hand_is_dragged_round_and_the_other_goes_along_or_turns_away(page):
    act(page, "click .te-details summary")
    box = page.locator(HAND).bounding_box()
    drag(page, box, (0.5, 0.7), (0.3, 0.5))  # from six to nine: a quarter of a turn in 19.9 positions
    assert_shows(page, 15, 3)
    play(page, "54.4°", "! was ")
    drag(page, box, (0.35, 0.35), (0.46, 0.25))  # two positions, 36°, on
    assert_shows(page, 15, 5)
    play(page, "90.6° … was 54.4°")


def test_the_first_rows_number_never_stands_on_a_tick(page):
    for width in (720, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for position in range(64):
            act(page, f"slider first position, p = {position}")
            assert page.evaluate(APART) == [], f"at p = {position}"
