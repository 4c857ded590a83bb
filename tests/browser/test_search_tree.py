"""The search tree in the page: what the page's model finds there, and room for all that stands in the tree."""

import itertools

import pytest

from tests.browser.figure_page import act, close, numbers
from tests.unit.test_search_tree import BOS_ID, EOS_ID, MAX_LEN, TOKENS, small_model, translated
from transformer_edu.book.figures import SearchTree
from transformer_edu.book.figures.search_tree import BEAM_SIZES

NARROWEST = 44  # pixels of a box
# Of each box and label: its step, its corners, its width if it is a box; how many lines a word takes, and its margins.
BOXES = """all => all.map((one) => {
    const { left, top, right, bottom, width } = one.getBoundingClientRect();
    const word = one.querySelector(".te-srch-word, .te-srch-tag");
    const isLabel = word.className === "te-srch-tag";
    const range = document.createRange();
    range.selectNodeContents(word);
    const text = range.getBoundingClientRect();
    return [one.dataset.step, isLabel, [left, top, right, bottom], isLabel ? Infinity : width,
        isLabel ? 1 : range.getClientRects().length, text.left - left, right - text.right];
})"""


def small_tree():
    return SearchTree.from_model(small_model(1), [4, 5, 6], BOS_ID, EOS_ID, TOKENS, MAX_LEN)


def test_the_page_shows_what_beam_search_finds_for_a_sentence_that_is_typed(show):
    page, sentence = show(SearchTree(sentence="my cow sees the red house")), "these foxes want a hat"
    act(
        page,
        f"textbox English sentence = {sentence}",
        "click .te-details summary",
        "click [aria-label^=Beam] [data-value='5']",
    )
    ranked = translated(sentence, 5, 0.6)["ranked"]
    rows = page.locator(".te-srch-results [data-value]")
    told = rows.evaluate_all("all => all.map(one => one.firstChild.textContent.split('★')[0])")
    assert told[: len(ranked)] == [text for text, *_ in ranked]
    for i, key in enumerate(("length", "logprob", "value"), start=1):
        close(numbers(rows, key)[: len(ranked)], [hypothesis[i] for hypothesis in ranked])
    won = numbers(page.locator(".te-srch-node.te-srch-finished.te-srch-won"))
    close(won, [ranked[0][2]])


@pytest.mark.parametrize("width", [720, 358])
@pytest.mark.parametrize("sentence", ["", None, "these foxes want a hat", "the"])
def test_all_boxes_have_room_and_labels_cover_none(width, sentence, show):
    """The hardest: a beam of five, and words that are no sentence, of which the translation ends at its limit."""
    page = show(small_tree() if sentence is None else SearchTree(), width=width)
    if sentence is not None:
        line = page.get_by_label("English sentence")
        assert line.evaluate("one => one.scrollWidth <= one.clientWidth")
        line.fill(sentence)
    for beam in BEAM_SIZES:
        act(page, f"click [aria-label^=Beam] [data-value='{beam}']")
        boxes = page.locator(".te-srch-tree .te-srch-node").evaluate_all(BOXES)
        assert len({step for step, *_ in boxes}) >= 3
        for *_, lines, left, right in boxes:
            assert lines == 1
            assert min(left, right) >= -1, "the word sticks out of its box"
        assert min(box[3] for box in boxes) >= NARROWEST
        for (step, is_label, edges, *_), (other_step, is_other_label, other, *_) in itertools.combinations(boxes, 2):
            if step == other_step or is_label or is_other_label:
                assert any(min(edges[i + 2], other[i + 2]) - max(edges[i], other[i]) <= 1 for i in (0, 1))
