"""The search tree in the page: every step against a search done here, every winner against beam_search."""

import itertools
import math

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.figure_page import act, close, numbers
from tests.unit.test_search_tree import BOS_ID, EOS_ID, MAX_LEN, TOKENS, small_model
from transformer_edu.book.figures import SearchTree
from transformer_edu.book.figures.search_tree import ALPHAS, BEAM_SIZES, HAND_LANGUAGE, LONGEST
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.decoding.beam import beam_search

OTHER = "these foxes want a hat"
NARROWEST = 44  # pixels of a box
# Of each word: how many lines it takes, whether it sticks out of its box, and how wide this is.
WORDS = """all => all.map((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return [range.getClientRects().length, one.scrollWidth > one.parentNode.clientWidth, one.parentNode.offsetWidth];
})"""
BOXES = """all => all.map((one) =>
    [one.dataset.step, one.offsetLeft, one.offsetTop, one.offsetWidth, one.offsetHeight].map(Number))"""


def set_to(page, beam, alpha):
    page.get_by_role("radiogroup", name="Beam size").get_by_role("radio", name=str(beam), exact=True).click()
    page.get_by_role("radiogroup", name="Length penalty").get_by_role("radio", name=f"{alpha:g}", exact=True).click()


def small_tree():
    return SearchTree.from_model(small_model(1), [4, 5, 6], BOS_ID, EOS_ID, TOKENS, MAX_LEN)


def candidates(page):
    """(fate, text) of each candidate of the step that is listed."""
    rows = page.locator(".te-srch-candidates [data-fate]")
    texts = rows.evaluate_all("all => all.map(one => [one.dataset.fate, one.children[1].textContent.trim()])")
    return [(fate, text) for fate, text in texts]


def assert_found(page, expected, tokens=TOKENS):
    """The list of finished sentences begins with these, all their numbers included."""
    rows = page.locator(".te-srch-results [data-value]")
    count = len(expected)
    told = rows.evaluate_all("all => all.map(one => one.firstChild.firstChild.textContent)")
    words = [[tokens[token] for token in one.ids if token not in (BOS_ID, EOS_ID)] for one in expected]
    assert told[:count] == [" ".join(one) for one in words]
    found = torch.stack([numbers(rows, key)[:count] for key in ("length", "logprob", "value")], dim=1)
    close(found, [[len(one.ids) - 1, one.log_prob, one.score] for one in expected])
    assert "wins" in (rows.first.text_content())
    assert page.locator(".te-srch-best").count() == 1


def test_every_beam_and_penalty_finds_what_beam_search_finds(show):
    model = small_model(3)
    page = show(SearchTree.from_model(model, [4, 5, 6], BOS_ID, EOS_ID, TOKENS, MAX_LEN))
    for beam, alpha in itertools.product(BEAM_SIZES, ALPHAS):
        set_to(page, beam, alpha)
        assert_found(page, beam_search(model, torch.tensor([[4, 5, 6]]), BOS_ID, EOS_ID, MAX_LEN, beam, alpha)[0])


@pytest.mark.parametrize("sentence", ["", "my cow sees the red house"])
def test_the_translator_searches_as_beam_search_does_for_any_sentence(sentence, show):
    page, of = show(SearchTree(sentence=sentence)), opening(OTHER)
    line = page.get_by_label("English sentence")
    before = page.locator(".te-words").inner_text()
    line.fill(OTHER)
    source = torch.tensor([of.vocabularies[0].encode(OTHER)])
    words = [of.vocabularies[1].word(index) for index in range(len(of.vocabularies[1]))]
    page.locator("summary").click()
    for beam, alpha in [(1, 0.0), (2, 1.0), (5, 0.0), (5, 0.6)]:
        set_to(page, beam, alpha)
        assert_found(page, beam_search(of.model, source, BOS_ID, EOS_ID, LONGEST, beam, alpha)[0], words)
    set_to(page, 2, 0.6)
    page.get_by_role("button", name="Start again").click()
    expect(line).to_have_value(sentence)
    assert page.locator(".te-words").inner_text() == before


def test_tree_marks_every_fate_without_colour(page):
    for fate, mark in (("dropped", "✗"), ("finished", "■")):
        marked = page.locator(f".te-srch-tree [data-fate={fate}]")
        assert marked.count() >= 2
        assert set(marked.locator(".te-srch-mark").all_text_contents()) == {mark}


@pytest.mark.parametrize("make", [SearchTree, small_tree])
@pytest.mark.parametrize("width", [720, 390])
def test_every_prefix_of_a_step_has_room_beside_the_others(make, width, show):
    page = show(make(), width=width)
    for beam in BEAM_SIZES:
        set_to(page, beam, 0.6)
        steps = {}
        for step, *box in page.locator(".te-srch-tree .te-srch-node").evaluate_all(BOXES):
            steps.setdefault(step, []).append(box)
        assert len(steps) >= 3
        for boxes in steps.values():
            for one, other in itertools.combinations(boxes, 2):
                assert any(abs(one[i] - other[i]) + 1 >= (one[i + 2] + other[i + 2]) / 2 for i in (0, 1))


@pytest.mark.parametrize("width", [720, 358])
@pytest.mark.parametrize("sentence", [OTHER, "the"])
def test_no_box_cuts_a_word(width, sentence, show):
    """The hardest: a beam of five, and words that are no sentence, of which the translation ends at its limit."""
    page = show(SearchTree(), width=width)
    page.get_by_label("English sentence").fill(sentence)
    set_to(page, 5, 0.6)
    lines, sticks_out, widths = zip(
        *page.locator(".te-srch-node:not([hidden]) > .te-srch-word").evaluate_all(WORDS), strict=True
    )
    assert set(lines) == {1}
    assert not any(sticks_out)
    assert min(widths) >= NARROWEST


def test_a_small_probability_is_no_row_of_zeros(page):
    page.get_by_label("English sentence").fill("the")
    assert page.locator(".te-srch-tag:not(:empty)").all_text_contents() == ["greedy = beam of 2: < 0.001"]


def test_the_empty_line_offers_a_whole_sentence_and_then_words_to_change_it(page):
    line, offers = page.get_by_label("English sentence"), page.locator(".te-sentence-offers")
    assert line.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert offers.inner_text() == RUNNING_SENTENCE
    offers.get_by_role("button").click()
    expect(line).to_have_value(RUNNING_SENTENCE)
    assert "Winner: le petit chat noir ne dort pas" in page.locator(".te-words").inner_text()
    offers.get_by_role("button", name="dog", exact=True).click()
    expect(line).to_have_value(RUNNING_SENTENCE.replace("cat", "dog"))


def test_step_by_step(page):
    shown = page.locator(".te-srch-candidates [data-fate]")
    act(page, "button To the start")
    assert candidates(page) == []
    act(page, "button Next step")
    assert candidates(page) == [("kept", "a"), ("kept", "the"), ("dropped", "black")]
    told = shown.evaluate_all("all => all.map(one => [...one.children].map(cell => cell.textContent.trim()))")
    assert {word: float(p) for _, word, p, *_ in told} == HAND_LANGUAGE["<bos>",]
    act(page, "button Next step")
    kept, dropped = [("kept", "the cat"), ("kept", "a cat")], [("dropped", "a black"), ("dropped", "a dog")]
    assert candidates(page) == kept + dropped
    steps = [(0.4, 0.9), (0.5, 0.38), (0.5, 0.34), (0.5, 0.28)]
    close(numbers(shown), [math.log(first * second) for first, second in steps])
    act(page, "button Next step")
    assert candidates(page)[:2] == [("finished", "the cat end"), ("kept", "the cat sleeps")]
    assert page.locator(".te-srch-results [data-value]").count() == 1
    act(page, "button Back")
    assert candidates(page) == kept + dropped


def test_the_winner_is_marked_from_the_start_to_the_end(page):
    close(numbers(page.locator(".te-srch-results [data-value]"))[:1], [math.log(0.162) / 1.5**0.6])
    won = page.locator(".te-srch-node.te-srch-won .te-srch-word").all_text_contents()
    assert won == ["start", "the", "cat", "sleeps", "end"]
    assert page.locator(".te-srch-tag:not(:empty)").all_text_contents() == ["greedy: 0.11", "beam of 2: 0.16"]
    assert "score −1.43" in page.locator(".te-srch-node.te-srch-finished.te-srch-won").text_content()
