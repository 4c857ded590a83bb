"""The batch packer: every setting packs as Python does."""

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import overflow
from tests.browser.figure_page import Show
from transformer_edu.data.token_budget import epoch_batches
from transformer_edu.widgets import BatchPacker
from transformer_edu.widgets.batch_packer import LIMITS
from transformer_edu.widgets.batch_packer_data import ORDERS, cells_of, plan, token_counts

FIGURE = BatchPacker()
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
    for (let epoch = 0; epoch < epochs; epoch += 1) {
      seen.push({ size, epoch, ...document.querySelector('.te-pack-stage').dataset });
      next.click();
    }
  }
  return seen;
}"""


@pytest.fixture
def packer(show: Show) -> Page:
    return show(FIGURE)


def card(page: Page, order: str) -> Locator:
    return page.get_by_role("radiogroup", name="Order in which").get_by_role("radio", name=order)


def set_limit(page: Page, limit: str) -> None:
    page.get_by_role("radio", name=f"of {limit}").click()


def batches_shown(page: Page) -> list[list[int]]:
    shown: list[list[int]] = json.loads(page.locator(".te-pack-stage").get_attribute("data-batches") or "")
    return shown


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", LIMITS)
def test_every_setting_packs_as_python_does(packer: Page, order: str, limit: str) -> None:
    card(packer, order).click()
    set_limit(packer, limit)
    seen = packer.evaluate(EVERY_SIZE, 4)
    assert [one["size"] for one in seen[::4]] == list(range(11, 89) if limit == "tokens" else range(1, 17))
    for one in seen:
        batches, rest = plan(LENGTHS, order, limit, one["size"], seed=0, epoch=one["epoch"])
        assert json.loads(one["batches"]) == batches
        assert int(one["rest"]) == (-1 if rest is None else rest)
        cells = sum(cells_of(batch, LENGTHS) for batch in batches)
        assert (int(one["cells"]), int(one["padding"])) == (cells, cells - sum(LENGTHS))


def test_other_seeds_and_sentences_pack_as_python_does(show: Show) -> None:
    sentences = [" ".join(["un", "##believ", "##able"] * (1 + number % 9)) for number in range(64)]
    figure = BatchPacker(sentences, order=SIMILAR, limit="tokens", size=90, seed=11, epoch=2)
    page = show(figure)
    pairs = [(length, length) for length in token_counts(sentences)]
    assert batches_shown(page) == epoch_batches(pairs, 90, seed=11, epoch=2)
    assert overflow(page) <= 0


def squares(page: Page, batch: int, kind: str) -> int:
    path = page.locator(".te-pack-batches button").nth(batch).locator(f".te-pack-{kind}").get_attribute("d") or ""
    return path.count("z")


def test_rectangles_have_a_square_for_each_token_and_each_padding(packer: Page) -> None:
    set_limit(packer, "tokens")
    for at, batch in enumerate(batches_shown(packer)):
        tokens = sum(LENGTHS[index] for index in batch)
        assert squares(packer, at, "token") == tokens
        assert squares(packer, at, "padding") == cells_of(batch, LENGTHS) - tokens


def drawn_size(page: Page, batch: int) -> tuple[int, int]:
    box = page.locator(".te-pack-batches svg").nth(batch).bounding_box()
    assert box is not None
    return round(box["width"]), round(box["height"])


def test_area_on_the_page_is_what_a_batch_costs(packer: Page) -> None:
    card(packer, "sorted by length").click()
    shown = batches_shown(packer)
    assert [drawn_size(packer, at) for at in range(6)] == [
        (10 * max(LENGTHS[index] for index in batch), 10 * len(batch)) for batch in shown
    ]


def test_words_say_what_sorting_loses_and_what_a_budget_evens(packer: Page) -> None:
    words = packer.locator(".te-pack-sentence")
    card(packer, "sorted by length").click()
    expect(words).to_contain_text("would be just as many cells")
    expect(words).to_contain_text(
        "32 to 88 cells: the largest is 2.8 times the smallest. A budget of tokens evens that."
    )
    expect(words).to_contain_text("the order of training is no longer random")
    card(packer, SIMILAR).click()
    expect(words).to_contain_text("As they come it would be 480 cells, 32 % of them padding.")
    expect(words).to_contain_text("The batches are then shuffled")
    set_limit(packer, "tokens")
    expect(words).to_contain_text("a batch costs 60 to 63 cells, much the same, and holds 6 to 12 sentences.")
    expect(words).to_contain_text("The batch marked “rest” has what was left: 44 cells.")
    set_limit(packer, "sentences")
    packer.get_by_role("slider").fill("1")
    expect(words).to_contain_text("48 batches, 326 cells; no padding.")


def rows_shown(page: Page) -> list[list[str]]:
    return [row.split() for row in page.locator(".te-pack-table [role=listitem]").all_text_contents()]


def padded(batch: list[int]) -> list[list[str]]:
    width = max(LENGTHS[index] for index in batch)
    return [FIGURE.sentences[index].split() + ["<pad>"] * (width - LENGTHS[index]) for index in batch]


def test_hovering_shows_a_batch_and_clicking_keeps_it(packer: Page) -> None:
    shown = batches_shown(packer)
    assert rows_shown(packer) == padded(shown[0])
    packer.locator(".te-pack-batches button").nth(3).hover()
    assert rows_shown(packer) == padded(shown[3])
    padding = 72 - sum(LENGTHS[index] for index in shown[3])
    expect(packer.locator(".te-pack-title")).to_have_text(
        f"Batch 4: 8 rows × 9 tokens = 72 cells, {padding} of them padding"
    )
    packer.locator(".te-pack-title").hover()
    assert rows_shown(packer) == padded(shown[0])
    packer.locator(".te-pack-batches button").nth(2).click()
    packer.locator(".te-pack-title").hover()
    assert rows_shown(packer) == padded(shown[2])
    expect(packer.locator("[aria-live=polite]")).to_contain_text("Batch 3: 8 rows × 9 tokens")
