"""The decoder stepper, with the numbers of the model itself."""

import pytest
import torch

from tests.browser.conftest import wake
from tests.browser.figure_page import act, close, numbers, play
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION
from transformer_edu.book.figures import DecoderStepper
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.vocabulary import BOS_ID, PAD_ID
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.record import record_attention

OTHER = "these foxes want a hat"
OF = {sentence: opening(sentence) for sentence in (RUNNING_SENTENCE, OTHER)}
MODEL, (ENGLISH, FRENCH) = OF[OTHER].model, OF[OTHER].vocabularies


@torch.no_grad()
def reference(written, sentence=RUNNING_SENTENCE, masked=True):
    """One forward pass over all that is written: probabilities (seq, vocab), output and both attentions by layer."""
    source, target = torch.tensor([ENGLISH.encode(sentence)]), torch.tensor([FRENCH.encode(written, add_bos=True)])
    with changed(MODEL, unmasked=not masked), record_attention(MODEL) as maps:
        output = MODEL.decode(target, MODEL.encode(source), source)
    return {
        "p": MODEL.project(output)[0].softmax(dim=-1),
        "output": output[0],
        "self": torch.stack([maps[f"decoder.{layer}.self"][0].mean(dim=0) for layer in (0, 1)]),
        "cross": torch.stack([maps[f"decoder.{layer}.cross"][0].mean(dim=0) for layer in (0, 1)]),
    }


def row(page, index):
    """The words of a row of the sentence: 0 what is read, 2 what is written."""
    return page.locator(".te-dec-line").nth(index).locator(".te-dec-word").all_text_contents()


def assert_shows(page, written, layer=1, **given):
    """Words, weights, probabilities and outputs are those of the model on the written words."""
    expected = reference(written, **given)
    assert row(page, 0) == ["start", *written.split()]
    for kind in ("self", "cross"):
        close(numbers(page.locator(f"[data-list={kind}] li")), expected[kind][layer, -1])
    close(numbers(page.locator(".te-dec-option")), expected["p"][-1].topk(5).values)
    close(numbers(page.locator(".te-dec-number")).reshape(-1, 4), expected["output"][:, :4])


def test_what_it_opens_with_is_what_the_model_computes_when_it_has_come(open_html):
    page = open_html(DecoderStepper().html(), asleep=True).page
    assert_shows(page, "le petit chat")
    wake(page)
    assert_shows(page, "le petit chat")


def test_every_step_of_the_translation_agrees_with_the_model(page):
    act(page, "button Erase")
    words = RUNNING_TRANSLATION.split()
    for count in range(len(words) + 1):
        for layer in (0, 1):
            act(page, f"radio layer {layer + 1}")
            assert_shows(page, " ".join(words[:count]), layer)
        act(page, "button Write the next word")
    assert row(page, 2) == [*words, "end"]
    play(page, f"the decoder stops: {RUNNING_TRANSLATION}.")
    before = page.locator(".te-words").inner_text()
    page.get_by_role("button", name="Write the next word").dispatch_event("click")
    page.locator(".te-dec-option").first.dispatch_event("click")
    assert page.locator(".te-words").inner_text() == before


@pytest.mark.parametrize("masked", [True, False])
def test_any_word_after_another_of_any_sentence(page, masked):
    """*la* brings *petite*; a word that no step has offered is written, too, and what was written stays or moves."""
    page.get_by_label("no mask").set_checked(not masked)
    page.get_by_label("English sentence").fill(OTHER)
    assert row(page, 2) == ["ces", "renards", "veulent", "?"]
    assert_shows(page, "ces renards veulent", sentence=OTHER, masked=masked)
    typed = page.get_by_label("another next word")
    for written in ("la", "la petite", "la petite chat"):
        if written == "la":
            act(page, "button Erase")
        typed.fill(written.split()[-1])
        p = reference(" ".join(written.split()[:-1]), OTHER, masked)["p"][-1]
        p[[PAD_ID, BOS_ID]] = 0.0  # never written
        own = p[FRENCH.encode(written.split()[-1])[0]]
        play(page, f"{own:.4f}, place {int((p > own).sum()) + 1}")
        typed.press("Enter")
        assert_shows(page, written, sentence=OTHER, masked=masked)
    moved = reference("la petite", OTHER, masked)["output"] - reference("la petite chat", OTHER, masked)["output"][:-1]
    assert page.locator(".te-dec-moved").count() == int((moved.abs().amax(dim=1) > 1e-3).sum()) == (0 if masked else 3)


def test_a_word_that_is_none_is_not_written_and_sixteen_are_the_most(page):
    typed = page.get_by_label("another next word")
    typed.fill("<b>zut")
    typed.press("Enter")
    play(page, "not one of its 123 words", "The newest position reads chat")
    for _ in range(15):
        typed.fill("chat")
        typed.press("Enter")
    assert len(row(page, 0)) == 16
    act(page, "button Back", "key Enter")
    assert len(row(page, 0)) == 14
