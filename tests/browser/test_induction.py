"""Copying in context, in the page: the weights, the probabilities and the effect of a head are PyTorch's."""

import pytest

from tests.browser.figure_page import act, close, number, numbers, play
from tests.browser.keyboard import focused, tab_to
from transformer_edu.book.experiments.induction import LETTERS
from transformer_edu.book.figures import Induction
from transformer_edu.book.figures.induction import copier_on, last_time


def assert_agrees(page, letters, token, without=()):
    p, (first, second) = copier_on(letters, without)
    row = second[token]
    close(numbers(page.locator("[data-arcs=layer-2] [data-key]")), row)
    close(numbers(page.locator("[data-arcs=layer-1] [data-key]")), first[row.argmax()])
    before = last_time(letters, token)
    copied = [] if before is None else [LETTERS.index(letters[before + 1])]
    others = [i for i in p[token].argsort(descending=True).tolist() if i not in copied]
    best = [*copied, *others][:5]
    close(numbers(page.locator(".te-copy-bars [data-value]")), p[token, best])
    shown = page.locator(".te-copy-bar").evaluate_all("all => all.map(one => one.dataset.letter)")
    assert shown == [LETTERS[i] for i in best]


@pytest.mark.parametrize("without", [[], [0], [1], [0, 1]])
def test_every_switch_gives_pytorchs_numbers(show, without):
    page = show(Induction(without=without))
    assert_agrees(page, "mrxdtmrx", 7, without)
    copied = copier_on("mrxdtmrx", without)[0][7, LETTERS.index("d")].item()
    assert number(page, ".te-words [data-value]") == pytest.approx(copied, abs=1e-4)


def test_arrow_keys_step_through_the_letters(page):
    tab_to(page, "[role=radio][aria-checked=true]")
    assert focused(page) == "letter 8, x"
    for token in (6, 5, 4):
        act(page, "key ArrowLeft")
        assert_agrees(page, "mrxdtmrx", token)
    play(page, "t is new here", "~ was not there before")
    act(page, "key Home")
    assert_agrees(page, "mrxdtmrx", 0)


def test_letters_of_ones_own_are_read_at_once_and_what_is_none_is_refused(page):
    act(page, "textbox sentence = abcdef abc")
    assert_agrees(page, "abcdefabc", 8)
    assert page.locator(".te-copy-source").inner_text() == "d"
    play(page, "> textbox sentence = ab<img>c", "< is none of the letters", "~ The picture stays")
    assert_agrees(page, "abcdefabc", 8)
    play(page, "> textbox sentence = a", "2 to 24 letters, please: there are 1")
    play(page, "> button Start again", "d followed x last time")
    assert_agrees(page, "mrxdtmrx", 7)


def test_the_copy_falls_in_place_and_what_it_was_stays_marked(page):
    before = number(page, "[data-letter=d] [data-value]")
    act(page, "checkbox layer 2 = off")
    after = number(page, "[data-letter=d] [data-value]")
    assert after < 0.1 < 0.5 < before
    play(page, "Without the head of layer 2, no letter stands out")
    act(page, "checkbox layer 2 = on")
    play(page, f"was {after:.2f}")
    act(page, "checkbox layer 1 = off")
    assert number(page, "[data-letter=d] [data-value]") < 0.1
    play(page, "Without the head of layer 1, it expects m in place of d")
