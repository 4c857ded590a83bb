"""The search tree in the page: every step against a search done here, every winner against beam_search."""

import itertools
import math
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from tests.browser.figure_page import Show
from tests.unit.test_search_tree import BOS_ID, EOS_ID, MAX_LEN, TOKENS, small_model
from transformer_edu.decoding.beam import Hypothesis, beam_search
from transformer_edu.widgets import SearchTree
from transformer_edu.widgets.search_tree_data import ALPHAS, BEAM_SIZES, record_search_tree

CLOSE = 1e-4


@pytest.fixture
def page(show: Show) -> Page:
    return show(SearchTree())


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def set_to(page: Page, beam: int, alpha: float) -> None:
    page.get_by_role("radiogroup", name="Beam size").get_by_role("radio", name=str(beam), exact=True).click()
    page.get_by_role("radiogroup", name="Length penalty").get_by_role("radio", name=f"{alpha:g}", exact=True).click()


def values(found: Locator, key: str) -> list[float]:
    return [float(value) for value in found.evaluate_all(f"all => all.map(one => one.dataset.{key})")]


def result_rows(page: Page) -> Locator:
    return page.locator(".te-srch-results [data-value]")


def candidates(page: Page) -> list[tuple[str, str]]:
    """(fate, text) of each candidate of the step that is listed."""
    rows = page.locator(".te-srch-candidates [data-fate]")
    texts = rows.evaluate_all("all => all.map(one => [one.dataset.fate, one.children[1].textContent.trim()])")
    return [(fate, text) for fate, text in texts]


def assert_found(page: Page, expected: list[Hypothesis]) -> None:
    """The list of finished sentences begins with these, all their numbers included."""
    rows = result_rows(page)
    count = len(expected)
    told = rows.evaluate_all("all => all.map(one => one.firstChild.firstChild.textContent)")
    words = [[TOKENS[token] for token in one.ids if token not in (BOS_ID, EOS_ID)] for one in expected]
    assert told[:count] == [" ".join(one) for one in words]
    assert values(rows, "length")[:count] == [len(one.ids) - 1 for one in expected]
    assert values(rows, "logprob")[:count] == pytest.approx([one.log_prob for one in expected], abs=CLOSE)
    assert values(rows, "value")[:count] == pytest.approx([one.score for one in expected], abs=CLOSE)
    expect(page.locator(".te-srch-best")).to_have_count(1)
    expect(rows.first).to_contain_text("wins")


@pytest.mark.parametrize("seed", [1, 3])
def test_every_beam_and_penalty_finds_what_beam_search_finds(seed: int, show: Show) -> None:
    model = small_model(seed)
    page = show(SearchTree.from_model(model, [4, 5, 6], BOS_ID, EOS_ID, TOKENS, MAX_LEN))
    for beam, alpha in itertools.product(BEAM_SIZES, ALPHAS):
        set_to(page, beam, alpha)
        assert_found(page, beam_search(model, torch.tensor([[4, 5, 6]]), BOS_ID, EOS_ID, MAX_LEN, beam, alpha)[0])


def test_default_shows_the_winner_and_what_greedy_would_have_said(page: Page) -> None:
    words = page.locator(".te-sentence")
    expect(words).to_contain_text(
        "Winner: the cat sleeps, log-probability −1.82. Divided by ((5 + 4) / 6) to the power 0.6 = 1.28"
    )
    expect(words).to_contain_text("Greedy search says a cat sleeps, log-probability −2.17: the winner is 1.42 times")
    expect(words).to_contain_text("With α = 0 or 0.2, the cat would win: log-probability −1.78, length 3 against 4.")
    assert values(result_rows(page), "value")[0] == pytest.approx(math.log(0.162) / 1.5**0.6, abs=CLOSE)
    assert page.locator(".te-srch-node.te-srch-won .te-srch-word").all_text_contents() == [
        "start",
        "the",
        "cat",
        "sleeps",
        "end",
    ]


def test_step_by_step_with_the_mouse(page: Page) -> None:
    press(page, "Start again")
    assert candidates(page) == []
    press(page, "Next step")
    assert candidates(page) == [("kept", "a"), ("kept", "the"), ("dropped", "black")]
    press(page, "Next step")
    kept, dropped = [("kept", "the cat"), ("kept", "a cat")], [("dropped", "a black"), ("dropped", "a dog")]
    assert candidates(page) == kept + dropped
    steps = [(0.4, 0.9), (0.5, 0.38), (0.5, 0.34), (0.5, 0.28)]
    shown = values(page.locator(".te-srch-candidates [data-fate]"), "value")
    assert shown == pytest.approx([math.log(first * second) for first, second in steps], abs=CLOSE)
    press(page, "Next step")
    assert candidates(page)[:2] == [("finished", "the cat end"), ("kept", "the cat sleeps")]
    expect(result_rows(page)).to_have_count(1)
    press(page, "Back")
    assert candidates(page) == kept + dropped


def test_tree_marks_every_fate_without_colour(page: Page) -> None:
    for fate, mark in (("dropped", "✗"), ("finished", "■")):
        marked = page.locator(f".te-srch-tree [data-fate={fate}]")
        assert marked.count() >= 2
        assert set(marked.locator(".te-srch-mark").all_text_contents()) == {mark}
    line = "one => getComputedStyle(one).textDecorationLine"
    assert page.locator("[data-fate=dropped] .te-srch-word").first.evaluate(line) == "line-through"


def test_every_prefix_stands_below_its_parent_row_and_beside_the_others(page: Page) -> None:
    for beam in BEAM_SIZES:
        set_to(page, beam, 0.6)
        for row in page.locator(".te-srch-row").all():
            boxes = [one.bounding_box() for one in row.locator(".te-srch-node").all()]
            edges = sorted((box["x"], box["x"] + box["width"]) for box in boxes if box)
            assert len(edges) == len(boxes)
            assert all(left[1] < right[0] for left, right in itertools.pairwise(edges))
            frame = page.locator(".te-srch-tree").bounding_box()
            assert frame
            assert frame["x"] <= edges[0][0]
            assert edges[-1][1] <= frame["x"] + frame["width"]


def patient_tree() -> dict[str, Any]:
    """After "a" the end is likelier (0.5) than "b" (0.45), after which all is certain: worth waiting for if α is 1."""
    rows = {"<bos>": {"a": 1.0}, "a": {"<eos>": 0.5, "b": 0.45, "c": 0.05}, "b": {"c": 1.0}, "c": {"<eos>": 1.0}}
    tokens = ["<bos>", "<eos>", "a", "b", "c"]

    def next_log_probs(prefix: list[int]) -> list[float]:
        row = rows[tokens[prefix[-1]]]
        return [math.log(row[token]) if token in row else -math.inf for token in tokens]

    return record_search_tree(next_log_probs, 0, 1, tokens, 8)


def test_search_goes_on_while_something_better_may_come_and_no_longer(show: Show) -> None:
    page = show(SearchTree(patient_tree(), beam=1, alpha=0.0))
    expect(page.locator(".te-srch-steps")).to_contain_text("step 2 of 2")
    expect(page.locator(".te-sentence")).to_contain_text("Winner: a, log-probability −0.69.")
    expect(page.locator(".te-srch-tables")).to_contain_text(
        "nothing in the beam could still beat the finished sentence"
    )
    set_to(page, 1, 1.0)
    expect(page.locator(".te-srch-steps")).to_contain_text("step 4 of 4")
    expect(page.locator(".te-sentence")).to_contain_text("Winner: a b c, log-probability −0.80.")
    expect(page.locator(".te-sentence")).to_contain_text("the winner is less probable, but has the better score")
    expect(page.locator(".te-srch-tables")).to_contain_text("The search stops because nothing goes on.")


def test_a_sentence_that_never_ends_is_cut_off(show: Show) -> None:
    tree = record_search_tree(lambda prefix: [-math.inf, -math.inf, 0.0], 0, 1, ["<bos>", "<eos>", "a"], 5)
    page = show(SearchTree(tree, beam=2))
    expect(page.locator(".te-sentence")).to_contain_text("Winner: a a a a, log-probability 0.00.")
    expect(page.locator(".te-sentence")).to_contain_text("No sentence has ended: this one is cut off.")
    expect(page.locator(".te-srch-tables")).to_contain_text("The search stops at its limit, 5 tokens with the start.")


def test_pieces_of_words_are_joined_where_a_sign_stands_for_the_space(show: Show) -> None:
    after = {0: 2, 2: 3, 3: 4, 4: 1}  # each token is certain after the one before

    def next_log_probs(prefix: list[int]) -> list[float]:
        return [0.0 if token == after[prefix[-1]] else -math.inf for token in range(5)]

    tree = record_search_tree(next_log_probs, 0, 1, ["<bos>", "<eos>", "·the", "·cat", "s"], 6, space="·")
    page = show(SearchTree(tree))
    expect(page.locator(".te-sentence")).to_contain_text("Winner: the cats, log-probability 0.00.")
    words = page.locator(".te-srch-tree .te-srch-word").all_text_contents()
    assert words == ["start", "·the", "·cat", "s", "end"]
