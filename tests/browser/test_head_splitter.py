"""The head splitter on a page: where its cells lie, how they go there, and that a phone shows them whole."""

import pytest
import torch

from tests.browser.figure_page import act, close, shown
from tests.unit.test_head_splitter import reference
from transformer_edu.book.figures import HeadSplitter

WHERE = "cells => cells.map((one) => [one.getBoundingClientRect().x, one.getBoundingClientRect().y])"
WATCH = """() => ["transitionrun", "animationstart"].forEach((kind) => addEventListener(kind, ({ target }) =>
    (globalThis.moved ??= new Set()).add(target.closest("[role=grid]")?.dataset.matrix)))"""
# Of each cell the size of its letters, how wide its number is, and how wide it is itself.
PRINTED = """all => all.map((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return [parseFloat(getComputedStyle(one).fontSize), range.getBoundingClientRect().width, one.offsetWidth];
})"""


@pytest.mark.parametrize("num_heads", [2, 4])
def test_the_page_shows_the_packages_numbers_in_the_lanes_of_the_heads(page, num_heads):
    act(page, f"radio {num_heads} heads")
    for step, name, lanes in ((1, "v", 1), (2, "q", num_heads), (3, "out", num_heads), (4, "wrong", 1)):
        act(page, f"tab Step {step}")
        assert page.locator(f"[data-matrix={name}]").is_visible()
        close(shown(page, name), reference(num_heads)["matrices"][name])
        places = torch.tensor(page.locator(f"[data-matrix={name}] .te-cell").evaluate_all(WHERE))
        assert [len(column.unique()) for column in places.T] == [4 // lanes, 3 * lanes]


def test_what_is_split_and_merged_moves_there(page):
    act(page, "tab Step 1")
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate(WATCH)
    for step, names in ((2, ["q", "k", "v", "wrong-split"]), (3, []), (4, ["right", "wrong"])):
        act(page, f"tab Step {step}")
        page.wait_for_function("names => names.every((one) => moved.has(one))", arg=names)
    page.emulate_media(reduced_motion="reduce")


def test_play_goes_from_the_first_step_to_the_last(page):
    page.clock.install()
    act(page, "button Play")
    seen = []
    for _ in range(6):
        seen.append(page.locator(".te-heads").get_attribute("data-step"))
        page.clock.run_for(1800)
    assert list(dict.fromkeys(seen)) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("heads", [2, 4])
def test_a_phone_shows_numbers_large_enough_and_whole_at_every_step(heads, show):
    page = show(HeadSplitter(num_heads=heads), width=358)
    for step in range(1, 5):
        page.get_by_role("tab", name=f"Step {step}").click()
        cells = page.locator(".te-sheet.te-seen .te-cell").evaluate_all(PRINTED)
        assert min(size for size, _, _ in cells) >= 11
        assert all(printed <= width for _, printed, width in cells)
