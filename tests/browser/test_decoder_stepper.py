"""The decoder stepper, with the numbers of the model itself."""

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from tests.browser.figure_page import Show
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, record_attention
from transformer_edu.widgets import DecoderStepper

STORED = 0.5e-4 + 2e-6  # half a unit of the recording, and float32's rounding
SHIPPED = pretrained.load_grammar()
FRENCH = SHIPPED.target_vocabulary
SOURCE = torch.tensor([SHIPPED.source_vocabulary.encode(RUNNING_SENTENCE)])


@torch.no_grad()
def reference(written: str) -> dict[str, Tensor]:
    """One forward pass over all that is written: probabilities (seq, vocab), output and both attentions by layer."""
    target = torch.tensor([FRENCH.encode(written, add_bos=True)])
    with record_attention(SHIPPED.model) as maps:
        output = SHIPPED.model.decode(target, SHIPPED.model.encode(SOURCE), SOURCE)
    return {
        "p": SHIPPED.model.project(output)[0].softmax(dim=-1),
        "output": output[0],
        "self": torch.stack([maps[f"decoder.{layer}.self"][0].mean(dim=0) for layer in (0, 1)]),
        "cross": torch.stack([maps[f"decoder.{layer}.cross"][0].mean(dim=0) for layer in (0, 1)]),
    }


def greedy_from(written: str) -> list[str]:
    """The words that the model adds by itself until the end."""
    words = written.split()
    while not words or words[-1] != "<eos>":
        words.append(FRENCH.word(int(reference(" ".join(words))["p"][-1].argmax())))
    return words[len(written.split()) :]


@pytest.fixture
def page(show: Show) -> Page:
    return show(DecoderStepper())


def numbers(found: Locator) -> Tensor:
    return torch.tensor([float(value) for value in found.evaluate_all("all => all.map(one => one.dataset.value)")])


def row(page: Page, index: int) -> list[str]:
    """The words of a row of the sentence: 0 what is read, 2 what is written."""
    return page.locator(".te-dec-line").nth(index).locator(".te-dec-word").all_text_contents()


def options(page: Page) -> Locator:
    return page.locator(".te-dec-option:visible")


def option(page: Page, word: str) -> Locator:
    return page.get_by_role("button", name=f"write {word}, probability")


def assert_shows(page: Page, written: str, layer: int = 1) -> None:
    """Words, weights, probabilities and outputs are those of the model on the written words."""
    expected = reference(written)
    assert row(page, 0) == ["start", *written.split()]
    for kind in ("self", "cross"):
        shown = numbers(page.locator(f"[data-list={kind}] li"))
        torch.testing.assert_close(shown, expected[kind][layer, -1], atol=STORED, rtol=0)
    likely = expected["p"][-1].topk(5)
    torch.testing.assert_close(numbers(options(page))[:5], likely.values, atol=STORED, rtol=0)
    output = numbers(page.locator(".te-dec-number")).reshape(-1, 4)
    torch.testing.assert_close(output, expected["output"][:, :4], atol=STORED, rtol=0)


def test_every_step_of_the_translation_agrees_with_the_model(page: Page) -> None:
    page.get_by_role("button", name="Start again").click()
    expect(page.locator(".te-dec-words")).to_contain_text("Nothing is written yet")
    words = RUNNING_TRANSLATION.split()
    for count in range(len(words) + 1):
        for layer in (0, 1):
            page.get_by_role("radio", name=f"layer {layer + 1}").click()
            assert_shows(page, " ".join(words[:count]), layer)
        page.get_by_role("button", name="Write the next word").click()
    assert row(page, 2) == [*words, "end"]
    expect(page.locator(".te-sentence")).to_contain_text(f"the decoder stops: {RUNNING_TRANSLATION}.")
    before = page.locator(".te-dec-words").inner_text()
    page.get_by_role("button", name="Write the next word").dispatch_event("click")
    option(page, "ne").dispatch_event("click")
    assert page.locator(".te-dec-words").inner_text() == before


def test_another_word_is_followed_as_the_model_follows_it(page: Page) -> None:
    option(page, "noire").click()
    assert_shows(page, "le petit chat noire")
    expect(page.locator(".te-dec-branch")).to_contain_text("You chose noire (0.0048) in place of noir (0.9490)")
    for word in greedy_from("le petit chat noire"):
        page.get_by_role("button", name="Write the next word").click()
        assert row(page, 2)[-1 if word == "<eos>" else -2] == ("end" if word == "<eos>" else word)
    expect(page.locator(".te-sentence")).to_contain_text("le petit chat noire ne dort pas")


def test_la_brings_petite_but_the_noun_stays_the_cat(page: Page) -> None:
    page.get_by_role("button", name="Start again").click()
    assert options(page).count() == 6
    probabilities = reference("")["p"][-1]
    la = FRENCH.encode("la")[0]
    assert numbers(options(page))[5] == pytest.approx(probabilities[la].item(), abs=STORED)
    place = int((probabilities > probabilities[la]).sum()) + 1
    expect(page.locator(".te-dec-next")).to_contain_text(f"la is in place {place} of all words")
    option(page, "la").click()
    for written in ("la", "la petite", "la petite chat"):
        assert_shows(page, written)
        page.get_by_role("button", name="Write the next word").click()
    assert row(page, 2) == ["la", "petite", "chat", "noir", "?"]
    page.get_by_role("button", name="Back").click()
    option(page, "noire").click()
    assert_shows(page, "la petite chat noire")


def test_a_word_whose_branch_was_not_recorded_cannot_be_chosen(page: Page) -> None:
    option(page, "noire").click()
    second = options(page).nth(1)
    assert second.get_attribute("aria-disabled") == "true"
    second.dispatch_event("click")
    assert row(page, 0) == ["start", "le", "petit", "chat", "noire"]
    expect(page.locator(".te-dec-next")).to_contain_text("What follows the words in grey was not recorded")
