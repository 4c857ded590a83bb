"""Batches by a token budget: every setting packs as Python does."""

import json

import pytest
import torch

from tests.browser.conftest import overflow
from tests.browser.figure_page import act, close, play
from transformer_edu.book.figures import TokenBudgetBatches
from transformer_edu.book.figures.token_budget_batches import LIMITS
from transformer_edu.book.figures.token_budget_batches_data import ORDERS, cells_of, plan, token_counts
from transformer_edu.data.token_budget import epoch_batches

FIGURE = TokenBudgetBatches()
LENGTHS = token_counts(FIGURE.sentences)
SIMILAR = "similar lengths together"
# Push the slider through all its values, and at each press "Next epoch" until epoch 1 is back.
EVERY_SIZE = """epochs => {
  const slider = document.querySelector('.te-pack-size input');
  const next = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Next epoch');
  const seen = [];
  for (let size = Number(slider.min); size <= Number(slider.max); size += 1) {
    slider.value = size;
    slider.dispatchEvent(new Event('input'));
    for (let epoch = 0; epoch < epochs; epoch += 1) {  // the button rests where all epochs are the same
      seen.push({ size, epoch, ...document.querySelector('.te-pack-stage').dataset });
      next.click();
    }
  }
  return seen;
}"""


def batches_shown(page):
    return json.loads(page.locator(".te-pack-stage").get_attribute("data-batches"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", LIMITS)
def test_every_setting_packs_as_python_does(page, order, limit):
    act(page, f"radio {order}", f"radio of {limit}")
    seen = page.evaluate(EVERY_SIZE, 4)
    assert [one["size"] for one in seen[::4]] == list(range(11, 89) if limit == "tokens" else range(1, 17))
    for one in seen:
        batches, rest = plan(LENGTHS, order, limit, one["size"], seed=0, epoch=one["epoch"])
        assert json.loads(one["batches"]) == batches
        assert int(one["rest"]) == (-1 if rest is None else rest)
        cells = sum(cells_of(batch, LENGTHS) for batch in batches)
        assert (int(one["cells"]), int(one["padding"])) == (cells, cells - sum(LENGTHS))


def test_other_seeds_and_sentences_pack_as_python_does(show):
    sentences = [" ".join(["un", "##believ", "##able"] * (1 + number % 9)) for number in range(64)]
    figure = TokenBudgetBatches(sentences, order=SIMILAR, limit="tokens", size=90, seed=11, epoch=2)
    page = show(figure)
    pairs = [(length, length) for length in token_counts(sentences)]
    assert batches_shown(page) == epoch_batches(pairs, 90, seed=11, epoch=2)
    assert overflow(page) <= 0


@pytest.mark.parametrize("limit", LIMITS)
def test_rectangles_are_to_scale_with_a_row_for_each_sentence(page, limit):
    act(page, "radio sorted by length", f"radio of {limit}")
    cell = float(page.locator(".te-pack-stage").evaluate("one => parseFloat(one.style.getPropertyValue('--cell'))"))
    wide = "all => all.map((one) => [one, one.parentNode].map((box) => box.getBoundingClientRect().width))"
    for batch, one in zip(batches_shown(page), page.locator(".te-pack-batches button").all(), strict=True):
        lengths = [LENGTHS[index] for index in batch]
        rows = one.locator(".te-pack-row")
        assert [row.get_attribute("title") for row in rows.all()] == [FIGURE.sentences[index] for index in batch]
        expected = [[cell * length, cell * max(lengths)] for length in lengths]
        close(torch.tensor(rows.evaluate_all(wide)), expected, atol=0.1)


def rows_shown(page):
    return [row.split() for row in page.locator(".te-pack-table [role=listitem]").all_text_contents()]


def padded(batch):
    width = max(LENGTHS[index] for index in batch)
    return [FIGURE.sentences[index].split() + ["<pad>"] * (width - LENGTHS[index]) for index in batch]


def test_hovering_shows_a_batch_and_clicking_keeps_it(page):
    act(page, "click .te-details summary")
    shown = batches_shown(page)
    assert rows_shown(page) == padded(shown[0])
    act(page, "hover .te-pack-batches button >> nth=3")
    assert rows_shown(page) == padded(shown[3])
    padding = 72 - sum(LENGTHS[index] for index in shown[3])
    play(page, f"Batch 4: 8 rows × 9 tokens = 72 cells, {padding} of them padding")
    act(page, "hover .te-pack-title")
    assert rows_shown(page) == padded(shown[0])
    act(page, "click .te-pack-batches button >> nth=2")
    act(page, "hover .te-pack-title")
    assert rows_shown(page) == padded(shown[2])


def test_each_size_is_found_again_and_epochs_differ_where_chance_decides(page):
    size = page.get_by_role("slider")
    for step, value in (
        ("slider sentences a batch = 5", "5"),
        ("radio of tokens", "64"),
        ("slider tokens a batch = 30", "30"),
        ("radio of sentences", "5"),
        ("radio of tokens", "30"),
    ):
        act(page, step)
        assert size.input_value() == value
    assert page.get_by_role("button", name="Next epoch").get_attribute("aria-disabled") == "true"
    act(page, "radio shuffled", "button Next epoch")
    assert batches_shown(page) == plan(LENGTHS, "shuffled", "tokens", 30, epoch=1).batches
