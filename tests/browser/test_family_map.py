"""The family map: its masks are the package's; a word, a family or a sentence changes what is read and asked for."""

import pytest

from tests.browser.figure_page import act, close, play, shown
from tests.browser.keyboard import focused, tab_to
from transformer_edu.book.figures import FamilyMap
from transformer_edu.book.figures.family_map import FAMILIES, SENTENCE, pass_of

SHOWN = ".te-cell:not([data-kind=off])"


def column(page, selector):
    """The words of the rows that are in use."""
    return page.locator(f".te-row:not(.te-off, .te-columns) > {selector}").all_text_contents()


def assert_pass(page, words, family, place):
    expected = pass_of(list(words), family, place)
    close(shown(page, "mask", SHOWN), expected.mask)
    assert column(page, "[role=rowheader]") == expected.inputs
    assert column(page, ".te-family-target") == [target or "–" for target in expected.targets]
    kinds = page.locator(SHOWN).evaluate_all("all => all.map(one => one.dataset.kind !== 'hidden')")
    assert kinds == expected.mask.flatten().tolist(), "a sign is drawn exactly where a place sees another"


@pytest.mark.parametrize("place", [0, 3, 6])
@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_reads_sees_and_is_asked_for_what_the_packages_masks_say(page, family, place):
    act(page, f"radio {FAMILIES[family]}", f"click .te-family-group >> nth=1 >> [data-value='{place}']")
    assert_pass(page, SENTENCE, family, place)


def test_another_sentence_is_cut_at_spaces_and_after_ten_words(page):
    act(page, "textbox sentence = <b>a</b>  cat")
    assert_pass(page, ["<b>a</b>", "cat"], "gpt", 1)
    words = [f"w{i}" for i in range(12)]
    act(page, f"textbox sentence = {' '.join(words)}", "radio T5")
    play(page, "Only the first 10 words are used.")
    assert_pass(page, words[:10], "t5", 1)
    act(page, "textbox sentence = ")
    assert_pass(page, words[:10], "t5", 1)
    act(page, "button Start again")
    assert_pass(page, SENTENCE, "gpt", 3)


def test_what_changed_stays_marked_until_the_next_change(page):
    assert page.locator(".te-other").count() == 0
    act(page, "radio BERT")
    assert page.locator(".te-family-target.te-other").count() == 6, "only one word is still asked for"
    assert page.locator(".te-cell.te-changed").count() == 21, "the causal mask's other half"
    act(page, "radio does")
    assert column(page, ".te-family-target.te-other") == ["–", "→ does".removeprefix("→ ")]
    assert page.locator(".te-cell.te-changed").count() == 21, "no cell has changed since"


def test_by_keyboard_alone(page):
    tab_to(page, "[role=radio]")
    page.keyboard.press("ArrowRight")
    assert focused(page) == "BERT"
    tab_to(page, "[role=radio]")
    page.keyboard.press("End")
    assert focused(page) == "sleep"
    assert_pass(page, SENTENCE, "bert", 6)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "[mask], place 7, sees the, place 1"


def test_stage_keeps_its_height_whatever_is_chosen(page):
    heights = set()
    for family in FAMILIES.values():
        for word in ("the", "cat", "sleep"):
            act(page, f"radio {family}", f"radio {word}")
            heights.add(page.locator(".te-stage").bounding_box()["height"])
    assert len(heights) == 1


def test_one_word_is_enough(show):
    page = show(FamilyMap("t5", ["cat"]))
    assert_pass(page, ["cat"], "t5", 0)
    for family, name in FAMILIES.items():
        act(page, f"radio {name}")
        assert_pass(page, ["cat"], family, 0)
