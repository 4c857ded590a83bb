"""The head atlas: all heads for the reader's sentence, sorted by what was measured, switched off one by one."""

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import wake
from tests.browser.figure_page import act, close, number, numbers, play, shown
from transformer_edu import build_transformer
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import HeadAtlas
from transformer_edu.book.figures.head_atlas import REDUNDANT, atlas
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.heads import attention_distance, attention_entropy
from transformer_edu.masks import causal_mask

LINE = "English sentence"
TILES = ".te-atlas-tile"
MEASURED = """[...document.querySelectorAll(".te-atlas-tile")].every((one) => one.dataset.importance !== "undefined")"""


def measured(page):
    """All tiles in the order of the page, when there is nothing left to measure."""
    page.wait_for_function(MEASURED)
    return page.locator(TILES)


def switch(page, heads):
    """Choose these heads one by one, and switch each."""
    for name, how in heads.items():
        act(page, f"click [data-head='{name}']", f"radio {how}")


def test_the_default_teaches_before_any_weight_is_loaded(open_html):
    watched = open_html(HeadAtlas().html(), asleep=True)
    page = watched.page
    assert page.locator(".te-root").get_attribute("data-engine") == "idle"
    assert page.locator(TILES).count() == 24
    expect(page.locator(".te-says")).to_have_text("Any one of the 24 heads can go: no word changes")
    before = page.locator(".te-stage").inner_text()
    wake(page)
    assert page.locator(".te-stage").inner_text() == before
    watched.assert_clean()


@pytest.mark.parametrize(
    ("sentence", "heads"),
    [("my cow sees the red house", {}), ("this hen sleeps", {REDUNDANT[0]: "off", "decoder.0.self.0": "uniform"})],
)
def test_maps_and_measures_are_those_of_pytorch(page, sentence, heads):
    expected = atlas(*read_page_file(shipped_file("grammar")), sentence.split(), heads)
    page.get_by_label(LINE).fill(sentence)
    switch(page, heads)
    tiles = measured(page)
    assert tiles.evaluate_all("all => all.map((one) => one.dataset.head)") == expected["names"]
    close(numbers(tiles, "importance"), expected["effects"])
    for at, name in enumerate(expected["names"]):
        weights = torch.tensor(expected["maps"][name])
        act(page, f"click [data-head='{name}']")
        close(shown(page, "weights"), weights)
        if heads.get(name) != "off":
            own = name.startswith("decoder") and "self" in name
            entropy = attention_entropy(weights, causal_mask(len(weights)) if own else None)
            assert number(page, ".te-atlas-number b >> nth=0") == pytest.approx(entropy.item(), abs=5e-4)
            assert number(page, ".te-atlas-number b >> nth=1") == pytest.approx(
                attention_distance(weights).item(), abs=2e-3
            )
        assert number(page, ".te-atlas-number b >> nth=2") == pytest.approx(expected["effects"][at], abs=1e-4)
    expect(page.locator(".te-atlas-writes")).to_have_text(f"It writes: {' '.join(expected['then'][:-1])}")


@pytest.mark.parametrize(("sort", "sign"), [("entropy", 1), ("distance", 1), ("importance", -1)])
def test_tiles_are_sorted_and_the_keys_follow_their_order(page, sort, sign):
    switch(page, {REDUNDANT[0]: "off"})
    act(page, f"combobox sort by = {sort}")
    found = sign * numbers(measured(page), sort)
    there = found[: 23 if sort != "importance" else 24]
    assert bool((there.diff() >= 0).all())
    assert sort == "importance" or bool(found[-1].isnan())  # of a head that is off nothing can be said
    page.locator(TILES).first.click()
    for key, at in (("ArrowRight", 1), ("ArrowDown", 5), ("ArrowUp", 1), ("End", 23), ("ArrowRight", 23), ("Home", 0)):
        act(page, f"key {key}")
        expect(page.locator(TILES).nth(at)).to_be_focused()
        assert page.locator(TILES).nth(at).get_attribute("aria-checked") == "true"


def test_what_is_off_stays_off_until_it_is_switched_on(page):
    one, other = REDUNDANT
    scenes = [
        (f"> click [data-head='{one}']; radio off", "adds nothing now", "mes petites tortues blanches dorment"),
        ("Without 1 head, no word changes; but now 1 other has to stay",),
        (f"> click [data-head='{other}']", "Without it, a word changes."),
        ("> radio off", "~ mes petits tortues", "Each tells it that the adjective belongs to a feminine noun."),
        ("Without 2 heads, petites becomes petits",),
        (f"> click [data-head='{one}']; radio on", "Without 1 head, no word changes", "> radio uniform"),
        ("With 2 heads changed", "> button All on", "Any one of the 24 heads can go"),
    ]
    for scene in scenes:
        measured(page)
        play(page, *scene)


def test_the_map_of_a_head_that_has_to_stay_says_so(page):
    one, other = REDUNDANT
    assert measured(page).filter(has_text="stays").count() == 0
    act(page, f"click [data-head='{one}']", "radio off")
    needed = measured(page).filter(has_text="stays")
    assert needed.evaluate_all("all => all.map((tile) => tile.dataset.head)") == [other]
    assert "cannot go" in needed.get_attribute("aria-label")


@pytest.mark.parametrize("width", [720, 390])
def test_the_switch_and_what_the_model_then_writes_are_beside_each_other(width, show):
    page = show(HeadAtlas(), width=width)
    top, low = (page.locator(selector).bounding_box() for selector in (".te-atlas-switch", ".te-atlas-writes"))
    assert 0 <= low["y"] - top["y"] - top["height"] < 60


def test_heads_of_ones_own_model(open_html):
    torch.manual_seed(0)
    words = Vocabulary(["a", "b", "c"]), Vocabulary(["x", "y"])
    model = build_transformer(7, 6, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=9, norm="pre")
    figure = HeadAtlas("a c", model=model, vocabularies=words)
    watched = open_html(figure.html())
    watched.page.get_by_label(LINE).fill("b c a")
    expected = atlas(*read_page_file(figure._content), ["b", "c", "a"], {})
    close(numbers(measured(watched.page), "importance"), expected["effects"])
    watched.assert_clean()
