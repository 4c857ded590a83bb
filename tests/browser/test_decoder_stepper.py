"""The decoder stepper, with the numbers of the model itself."""

import pytest
import torch

from tests.browser.figure_page import act, close, numbers, play
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, record_attention

STORED = 0.5e-4 + 2e-6  # half a unit of the recording, and float32's rounding
SHIPPED = pretrained.load_grammar()
FRENCH = SHIPPED.target_vocabulary
SOURCE = torch.tensor([SHIPPED.source_vocabulary.encode(RUNNING_SENTENCE)])


@torch.no_grad()
def reference(written):
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


def greedy_from(written):
    """The words that the model adds by itself until the end."""
    words = written.split()
    while not words or words[-1] != "<eos>":
        words.append(FRENCH.word(int(reference(" ".join(words))["p"][-1].argmax())))
    return words[len(written.split()) :]


def row(page, index):
    """The words of a row of the sentence: 0 what is read, 2 what is written."""
    return page.locator(".te-dec-line").nth(index).locator(".te-dec-word").all_text_contents()


def options(page):
    return page.locator(".te-dec-option:visible")


def assert_shows(page, written, layer=1):
    """Words, weights, probabilities and outputs are those of the model on the written words."""
    expected = reference(written)
    assert row(page, 0) == ["start", *written.split()]
    for kind in ("self", "cross"):
        shown = numbers(page.locator(f"[data-list={kind}] li"))
        close(shown, expected[kind][layer, -1], atol=STORED)
    likely = expected["p"][-1].topk(5)
    close(numbers(options(page))[:5], likely.values, atol=STORED)
    output = numbers(page.locator(".te-dec-number")).reshape(-1, 4)
    close(output, expected["output"][:, :4], atol=STORED)


def test_every_step_of_the_translation_agrees_with_the_model(page):
    act(page, "button Start again")
    words = RUNNING_TRANSLATION.split()
    for count in range(len(words) + 1):
        for layer in (0, 1):
            act(page, f"radio layer {layer + 1}")
            assert_shows(page, " ".join(words[:count]), layer)
        act(page, "button Write the next word")
    assert row(page, 2) == [*words, "end"]
    play(page, f"the decoder stops: {RUNNING_TRANSLATION}.")
    before = page.locator(".te-dec-words").inner_text()
    page.get_by_role("button", name="Write the next word").dispatch_event("click")
    options(page).first.dispatch_event("click")
    assert page.locator(".te-dec-words").inner_text() == before


def test_another_word_is_followed_as_the_model_follows_it(page):
    act(page, "button write noire, probability")
    assert_shows(page, "le petit chat noire")
    for word in greedy_from("le petit chat noire"):
        act(page, "button Write the next word")
        assert row(page, 2)[-1 if word == "<eos>" else -2] == ("end" if word == "<eos>" else word)
    play(page, "le petit chat noire ne dort pas")


def test_la_brings_petite_but_the_noun_stays_the_cat(page):
    act(page, "button Start again")
    assert options(page).count() == 6
    probabilities = reference("")["p"][-1]
    la = FRENCH.encode("la")[0]
    assert numbers(options(page))[5] == pytest.approx(probabilities[la].item(), abs=STORED)
    place = int((probabilities > probabilities[la]).sum()) + 1
    play(page, f"la is in place {place} of all words")
    act(page, "button write la, probability")
    for written in ("la", "la petite", "la petite chat"):
        assert_shows(page, written)
        act(page, "button Write the next word")
    assert row(page, 2) == ["la", "petite", "chat", "noir", "?"]
    act(page, "button Back", "button write noire, probability")
    assert_shows(page, "la petite chat noire")


def test_a_word_whose_branch_was_not_recorded_cannot_be_chosen(page):
    act(page, "button write noire, probability")
    second = options(page).nth(1)
    assert second.get_attribute("aria-disabled") == "true"
    second.dispatch_event("click")
    assert row(page, 0) == ["start", "le", "petit", "chat", "noire"]
