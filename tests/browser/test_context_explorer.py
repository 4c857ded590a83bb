"""The context explorer, with the vectors of the model itself."""

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor
from torch.nn.functional import cosine_similarity

from tests.browser.figure_page import Show
from transformer_edu import RUNNING_SENTENCE, pretrained
from transformer_edu.widgets import ContextExplorer

SHIPPED = pretrained.load_grammar()
COW = "the small black cow does not sleep"
OBJECT = "the cow watches the small black cat"


@torch.no_grad()
def levels(sentence: str) -> list[Tensor]:
    """The sentence before the layers and after each, run through the model's parts by hand: (seq, d_model) each."""
    model = SHIPPED.model
    x = model.source_embedding(torch.tensor([SHIPPED.source_vocabulary.encode(sentence)]))
    found = [x, model.positional_encoding(x)]
    for layer in model.encoder.layers:
        found.append(layer(found[-1]))
    return [one[0] for one in found]


@pytest.fixture
def page(show: Show) -> Page:
    return show(ContextExplorer())


def measure(page: Page, name: str) -> Tensor:
    """A measure at every level."""
    values = page.locator(f"[data-measure={name}]").evaluate_all("all => all.map(one => Number(one.dataset.value))")
    return torch.tensor(values)


def strips(page: Page, name: str) -> Tensor:
    """One strip of every level: (levels, d_model)."""
    values = page.locator(f"[data-strip={name}]").evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('[data-value]')].map(bar => Number(bar.dataset.value)))"
    )
    return torch.tensor(values)


def assert_shows(page: Page, first: str, second: str, pair: tuple[int, int]) -> None:
    """Strips, cosines and distances are those of the model's own vectors."""
    one = torch.stack([level[pair[0]] for level in levels(first)])
    other = torch.stack([level[pair[1]] for level in levels(second)])
    close = {"atol": 1.02e-4, "rtol": 0}  # a sum of two stored numbers
    torch.testing.assert_close(strips(page, "first"), one, **close)
    torch.testing.assert_close(strips(page, "second"), other, **close)
    torch.testing.assert_close(strips(page, "difference"), one - other, atol=2.02e-4, rtol=0)
    torch.testing.assert_close(measure(page, "cosine"), cosine_similarity(one, other), atol=1e-4, rtol=0)
    torch.testing.assert_close(measure(page, "distance"), (one - other).norm(dim=1), atol=4e-4, rtol=0)
    shares = 200 * (one - other).norm(dim=1) / (one.norm(dim=1) + other.norm(dim=1))
    for text, share in zip(page.locator(".te-ctx-share").all_text_contents(), shares, strict=True):
        assert float(text.split()[0]) == pytest.approx(share.item(), abs=0.51)


def choose(page: Page, which: str, sentence: str) -> None:
    page.get_by_label(f"{which} sentence").select_option(label=sentence)


def test_default_is_one_the_before_a_cat_and_a_cow(page: Page) -> None:
    assert_shows(page, RUNNING_SENTENCE, COW, (0, 0))
    expect(page.locator(".te-sentence")).to_contain_text("In both sentences the starts from one embedding.")
    expect(page.locator(".te-sentence")).to_contain_text("The encoder has made two vectors of one word.")
    assert measure(page, "cosine")[0] == pytest.approx(1)
    assert measure(page, "cosine")[-1] < 0.8
    expect(page.locator(".te-ctx-sentences")).to_contain_text("la petite vache noire ne dort pas")


def test_every_shared_word_agrees_with_the_model(page: Page) -> None:
    for word in ("small", "black", "does", "not", "sleep", "the"):
        page.get_by_role("radio", name=word, exact=True).click()
        place = RUNNING_SENTENCE.split().index(word)
        assert_shows(page, RUNNING_SENTENCE, COW, (place, place))


def test_table_holds_the_cosine_of_every_word_and_chooses_it(page: Page) -> None:
    expected = torch.stack([
        cosine_similarity(one, other)[[0, 1, 2, 4, 5, 6]]
        for one, other in zip(levels(RUNNING_SENTENCE), levels(COW), strict=True)
    ]).T  # fmt: skip
    cells = page.locator("[data-matrix=cosines] [data-value]")
    shown = torch.tensor(cells.evaluate_all("all => all.map(one => Number(one.dataset.value))")).reshape(6, 4)
    torch.testing.assert_close(shown, expected, atol=1e-4, rtol=0)
    page.locator("[data-matrix=cosines] [data-row='2'][data-column='3']").click()
    assert page.locator("[aria-checked=true]").text_content() == "black"
    expect(page.locator(".te-sentence")).to_contain_text("hardly makes a difference")


def test_another_place_moves_a_word_before_any_layer(page: Page) -> None:
    page.get_by_role("radio", name="small", exact=True).click()
    choose(page, "second", OBJECT)
    assert page.locator("[aria-checked=true]").text_content() == "small 2|5"
    assert_shows(page, RUNNING_SENTENCE, OBJECT, (1, 4))
    cosine = measure(page, "cosine")[1]
    assert cosine < 0.9
    expect(page.locator(".te-sentence")).to_contain_text(
        f"word 2 here and word 5 there: the position alone takes the cosine to {cosine:.3f}"
    )


def test_a_word_that_stands_twice_is_compared_with_itself(page: Page) -> None:
    choose(page, "first", OBJECT)
    choose(page, "second", OBJECT)
    page.get_by_role("radio", name="the 1|4").click()
    assert_shows(page, OBJECT, OBJECT, (0, 3))
    page.get_by_role("radio", name="cow").click()
    expect(page.locator(".te-sentence")).to_contain_text("nothing differs")


def test_sentences_of_your_own(show: Show) -> None:
    sentences = ["my mouse sings", "my mice sing"]
    page = show(ContextExplorer.of_translator(SHIPPED, sentences))
    assert_shows(page, *sentences, (0, 0))
    expect(page.locator(".te-ctx-sentences")).to_contain_text("mes souris chantent")
