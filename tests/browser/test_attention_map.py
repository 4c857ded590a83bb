"""The attention map, with PyTorch's numbers."""

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from tests.browser.figure_page import Show, matrix
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, record_attention
from transformer_edu.widgets import AttentionMap

WRITTEN = [*RUNNING_TRANSLATION.split(), "end"]


@pytest.fixture(scope="module")
def model_maps() -> dict[str, Tensor]:
    """Every attention of the shipped model on the running sentence: (heads, q_len, k_len)."""
    shipped = pretrained.load_grammar()
    source = torch.tensor([shipped.source_vocabulary.encode(RUNNING_SENTENCE)])
    target = torch.tensor([shipped.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)])
    with torch.no_grad(), record_attention(shipped.model) as maps:
        shipped.model(source, target)
    return {name: weights[0].double() for name, weights in maps.items()}


@pytest.fixture
def page(show: Show) -> Page:
    return show(AttentionMap(), height=900)


def shown(page: Page) -> Tensor:
    return matrix(page.locator("[data-matrix=weights]"))


def assert_shown(page: Page, expected: Tensor) -> None:
    torch.testing.assert_close(shown(page), expected, atol=1e-4, rtol=0)


def says(weights: Tensor, word: str) -> str:
    """How the sentence on a written word begins: the word it looks at most, with the mean weight of the heads."""
    row = weights.mean(dim=0)[WRITTEN.index(word)]
    return f"While it writes {word}, it looks at {RUNNING_SENTENCE.split()[int(row.argmax())]} {row.max():.2f}"


def lines(page: Page) -> list[float]:
    """Widths of the chosen word's lines."""
    return page.locator(".te-map-chosen").evaluate_all(
        "all => all.map(one => Number(one.getAttribute('stroke-width')))"
    )


def test_every_map_by_mouse_agrees_with_the_model(page: Page, model_maps: dict[str, Tensor]) -> None:
    for kind, stem in [
        ("Cross", "decoder.{}.cross"),
        ("Encoder self", "encoder.{}.self"),
        ("Decoder self", "decoder.{}.self"),
    ]:
        page.get_by_role("radio", name=kind, exact=True).click()
        for layer in (0, 1):
            weights = model_maps[stem.format(layer)]
            page.get_by_label("layer").select_option(index=layer)
            page.get_by_label("head", exact=True).select_option(index=0)
            assert_shown(page, weights.mean(dim=0))
            for head in range(len(weights)):
                page.get_by_label("head", exact=True).select_option(index=1 + head)
                assert_shown(page, weights[head])


def test_default_says_that_noir_looks_at_black(page: Page, model_maps: dict[str, Tensor]) -> None:
    expect(page.locator(".te-sentence")).to_contain_text(says(model_maps["decoder.1.cross"], "noir"))
    assert page.locator(".te-map-queries [aria-checked=true]").text_content() == "noir"
    row = model_maps["decoder.1.cross"].mean(dim=0)[WRITTEN.index("noir")]
    assert row.argmax() == RUNNING_SENTENCE.split().index("black")
    assert lines(page) == [pytest.approx(1 + 8 * weight.item(), abs=0.01) for weight in row if weight >= 0.005]
    expect(page.locator(".te-note").first).to_have_text("Its input here is chat, the word just written.")


def test_choosing_a_word_in_the_drawing_or_the_matrix_is_the_same(page: Page, model_maps: dict[str, Tensor]) -> None:
    weights = model_maps["decoder.1.cross"]
    page.get_by_role("radio", name="chat").click()
    expect(page.locator(".te-sentence")).to_contain_text(says(weights, "chat"))
    assert page.locator("[data-matrix=weights] .te-in-row").first.get_attribute("data-row") == "2"
    page.locator("[data-matrix=weights] [data-row='5'][data-column='6']").click()
    assert page.locator(".te-map-queries [aria-checked=true]").text_content() == "dort"
    expect(page.locator(".te-sentence")).to_contain_text(says(weights, "dort"))


def test_pointing_shows_a_word_and_leaving_brings_the_chosen_one_back(page: Page) -> None:
    page.get_by_role("radio", name="petit").hover()
    expect(page.locator(".te-sentence")).to_contain_text("While it writes petit")
    assert page.locator(".te-map-queries [aria-checked=true]").text_content() == "noir"
    page.mouse.move(2, 2)
    expect(page.locator(".te-sentence")).to_contain_text("writes noir")


def test_rows_of_decoder_self_attention_never_see_later_words(page: Page) -> None:
    page.get_by_role("radio", name="Decoder self", exact=True).click()
    hatched = page.locator("[data-matrix=weights] .te-blocked").evaluate_all(
        "all => all.map(c => [c.dataset.row, c.dataset.column])"
    )
    assert {(int(row), int(column)) for row, column in hatched} == {(i, j) for i in range(8) for j in range(i + 1, 8)}
    headers = page.locator("[data-matrix=weights] [role=columnheader]").all_text_contents()
    assert headers == ["start", *WRITTEN[:-1]]
    assert page.locator("[data-matrix=weights] [role=rowheader]").all_text_contents() == WRITTEN
