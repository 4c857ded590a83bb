"""Batches by a token budget: the page shows what is packed, to scale, and sentences glide to other batches."""

import pytest
import torch

from tests.browser.conftest import overflow
from tests.browser.figure_page import act, close, number
from transformer_edu.book.figures import TokenBudgetBatches
from transformer_edu.book.figures.token_budget_batches import LIMITS, ORDERS, cells_of, plan, token_counts

SENTENCES = TokenBudgetBatches().sentences
LENGTHS = token_counts(SENTENCES)
WIDTHS = "all => all.map((one) => [one, one.parentNode].map((box) => box.getBoundingClientRect().width))"
PLACES = """all => Object.fromEntries(all.map((one) => {
    const { x, y } = one.getBoundingClientRect();
    return [one.dataset.index, [x, y]];
}))"""
MOVES = """() => {
    const [real, moves] = [Element.prototype.animate, (window.moves = {})];
    Element.prototype.animate = function (frames, options) {
        const { index } = this.dataset;
        if (index) moves[index] = frames[0].transform.match(/-?[0-9.]+(?=px)/g).map(Number);
        return real.call(this, frames, { ...options, duration: 1 });
    };
}"""


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("order", ORDERS)
def test_rectangles_are_to_scale_with_a_row_for_each_sentence(page, order, limit):
    act(page, f"radio {order}", f"radio of {limit}")
    cell = float(page.locator(".te-pack-stage").evaluate("one => parseFloat(one.style.getPropertyValue('--cell'))"))
    batches = plan(LENGTHS, order, limit, 64 if limit == "tokens" else 8).batches
    for batch, button in zip(batches, page.locator(".te-pack-batches button").all(), strict=True):
        lengths = [LENGTHS[index] for index in batch]
        rows = button.locator(".te-pack-row")
        assert rows.evaluate_all("all => all.map((row) => row.title)") == [SENTENCES[index] for index in batch]
        close(torch.tensor(rows.evaluate_all(WIDTHS)), [[cell * row, cell * max(lengths)] for row in lengths], atol=0.1)
    assert number(page, "[data-measure=batches]") == len(batches)
    assert number(page, "[data-measure=cells]") == sum(cells_of(batch, LENGTHS) for batch in batches)


def test_many_long_sentences_have_room(show):
    sentences = [" ".join(["un", "##believ", "##able"] * (1 + number % 9)) for number in range(64)]
    assert overflow(show(TokenBudgetBatches(sentences, order=ORDERS[3], limit="tokens", size=90, seed=11))) <= 0


def test_each_sentence_glides_from_where_it_stood_to_its_new_batch(page):
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate(MOVES)
    rows = page.locator("[data-index]")
    before = rows.evaluate_all(PLACES)
    act(page, "radio sorted by length")
    page.wait_for_function("Object.keys(moves).length > 40 && !document.getAnimations().length")
    after, moves = rows.evaluate_all(PLACES), page.evaluate("moves")
    for index, move in moves.items():
        close(torch.tensor(move), torch.tensor(before[index]) - torch.tensor(after[index]), atol=0.1)
    page.emulate_media(reduced_motion="reduce")
