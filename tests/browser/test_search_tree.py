"""The search tree in the page: every step against a search done here, every winner against beam_search."""

import itertools
import math

import pytest
import torch

from tests.browser.figure_page import act, close, numbers
from tests.unit.test_search_tree import BOS_ID, EOS_ID, MAX_LEN, TOKENS, small_model
from transformer_edu.decoding.beam import beam_search
from transformer_edu.widgets import SearchTree
from transformer_edu.widgets.search_tree_data import ALPHAS, BEAM_SIZES, HAND_LANGUAGE

CLOSE = 1e-4


def set_to(page, beam, alpha):
    page.get_by_role("radiogroup", name="Beam size").get_by_role("radio", name=str(beam), exact=True).click()
    page.get_by_role("radiogroup", name="Length penalty").get_by_role("radio", name=f"{alpha:g}", exact=True).click()


def candidates(page):
    """(fate, text) of each candidate of the step that is listed."""
    rows = page.locator(".te-srch-candidates [data-fate]")
    texts = rows.evaluate_all("all => all.map(one => [one.dataset.fate, one.children[1].textContent.trim()])")
    return [(fate, text) for fate, text in texts]


def assert_found(page, expected):
    """The list of finished sentences begins with these, all their numbers included."""
    rows = page.locator(".te-srch-results [data-value]")
    count = len(expected)
    told = rows.evaluate_all("all => all.map(one => one.firstChild.firstChild.textContent)")
    words = [[TOKENS[token] for token in one.ids if token not in (BOS_ID, EOS_ID)] for one in expected]
    assert told[:count] == [" ".join(one) for one in words]
    found = torch.stack([numbers(rows, key)[:count] for key in ("length", "logprob", "value")], dim=1)
    close(found, [[len(one.ids) - 1, one.log_prob, one.score] for one in expected])
    assert "wins" in (rows.first.text_content())
    assert page.locator(".te-srch-best").count() == 1


@pytest.mark.parametrize("seed", [1, 3])
def test_every_beam_and_penalty_finds_what_beam_search_finds(seed, show):
    model = small_model(seed)
    page = show(SearchTree.from_model(model, [4, 5, 6], BOS_ID, EOS_ID, TOKENS, MAX_LEN))
    for beam, alpha in itertools.product(BEAM_SIZES, ALPHAS):
        set_to(page, beam, alpha)
        assert_found(page, beam_search(model, torch.tensor([[4, 5, 6]]), BOS_ID, EOS_ID, MAX_LEN, beam, alpha)[0])


def test_tree_marks_every_fate_without_colour(page):
    for fate, mark in (("dropped", "✗"), ("finished", "■")):
        marked = page.locator(f".te-srch-tree [data-fate={fate}]")
        assert marked.count() >= 2
        assert set(marked.locator(".te-srch-mark").all_text_contents()) == {mark}
    line = "one => getComputedStyle(one).textDecorationLine"
    assert page.locator("[data-fate=dropped] .te-srch-word").first.evaluate(line) == "line-through"


def test_every_prefix_stands_below_its_parent_row_and_beside_the_others(page):
    for beam in BEAM_SIZES:
        set_to(page, beam, 0.6)
        for row in page.locator(".te-srch-row").all():
            boxes = [one.bounding_box() for one in row.locator(".te-srch-node").all()]
            edges = sorted((box["x"], box["x"] + box["width"]) for box in boxes if box)
            assert len(edges) == len(boxes)
            assert all(left[1] < right[0] for left, right in itertools.pairwise(edges))
            frame = page.locator(".te-srch-tree").bounding_box()
            assert frame["x"] <= edges[0][0]
            assert edges[-1][1] <= frame["x"] + frame["width"]


def test_step_by_step(page):
    shown = page.locator(".te-srch-candidates [data-fate]")
    act(page, "button Start again")
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
