"""The line in which a reader types a sentence, in every figure that has one; and the model that comes with a touch."""

import re
from functools import partial

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import overflow
from transformer_edu.book.figures import (
    ArchitectureMap,
    AttentionMap,
    CacheStepper,
    ContextExplorer,
    DecoderStepper,
    HeadAtlas,
    Playground,
    ResidualStream,
    SearchTree,
)

FIGURES = {
    "architecture-map": ArchitectureMap,
    "attention-map": AttentionMap,
    "cache-stepper": CacheStepper,
    "context-explorer": ContextExplorer,
    "decoder-stepper": DecoderStepper,
    "head-atlas": HeadAtlas,
    "playground": Playground,
    "residual-stream": ResidualStream,
    "search-tree": partial(SearchTree, sentence="the cat sleeps"),
}
LINE = "English sentence"
HOSTILE = ["😀", "مرحبا", "<script>alert(1)</script>", "</b><img src=x onerror=alert(1)>", "the " * 40, "x" * 380]
PASTED = "Home\tAbout\nThe cat (see <b>below</b>) sleeps.\n" * 5
PICTURE = """() => {
    const copy = document.querySelector(".te-stage").cloneNode(true);
    copy.querySelectorAll(".te-sentence-box, .te-words, .te-play-note").forEach((one) => one.remove());
    const isFront = document.querySelector(".te-playground"); // it says there what is wrong
    return (isFront ? "" : document.querySelector(".te-says").textContent) + copy.innerHTML;
}"""

every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


@every_figure
def test_what_is_no_sentence_of_its_words_is_said_and_changes_nothing(show, make):
    """All figures have the same line; what is typed there is tried out in one of them."""
    page = show(make(), width=390)
    before = page.evaluate(PICTURE)
    right = page.get_by_label(LINE).input_value()
    for text in ("", *HOSTILE, PASTED) if make is Playground else (HOSTILE[3], PASTED):
        page.get_by_label(LINE).fill(text)
        assert page.get_by_label(LINE).get_attribute("aria-invalid") == "true"
        expect(page.locator(".te-words")).to_contain_text(
            re.compile("not among the 88 words|At most \\d+ words" if text else "Type a sentence, or take words")
        )
        assert page.evaluate(PICTURE) == before
        assert page.locator(".te-root :is(script, img)").count() == 0
        assert overflow(page, 390) <= 0
        page.set_viewport_size({"width": 390, "height": 1000})
        page.get_by_label(LINE).fill(right)
        expect(page.get_by_label(LINE)).not_to_have_attribute("aria-invalid", "true")


@every_figure
def test_a_phone_shows_the_whole_sentence_and_every_word_offered(show, make):
    """A phone of 390 px leaves a figure of the book 358."""
    page = show(make(), width=358)
    page.get_by_label(LINE).click()
    assert page.get_by_label(LINE).evaluate("line => line.scrollWidth <= line.clientWidth")
    assert page.locator(".te-sentence-offers").evaluate("all => all.scrollHeight <= all.clientHeight")


@every_figure
def test_what_cannot_be_loaded_leaves_a_message_and_a_working_page(open_html, make):
    damaged = make().html().replace('"sha256":"', '"sha256":"0')
    page = open_html(damaged, asleep=True).page
    before = page.evaluate(PICTURE)
    page.get_by_label(LINE).fill("my cow sees the red house")
    expect(page.locator(".te-words")).to_contain_text("The model could not be loaded (its weights could not be loaded)")
    expect(page.locator(".te-root")).to_have_attribute("data-engine", "failed")
    page.get_by_role("button", name="Start again").click()
    assert page.evaluate(PICTURE) == before
    expect(page.get_by_label(LINE)).to_have_value(re.compile("^(the|my small) "))


def test_a_damaged_file_is_noticed(open_html):
    page = open_html(re.sub(r'("sha256":"\w{63})\w', r"\1x", Playground().html()), asleep=True).page
    page.get_by_label(LINE).fill("my cow sees the red house")
    expect(page.locator(".te-words")).to_contain_text("the file of weights is damaged: its checksum differs")


@pytest.mark.parametrize("harm", ["'A' + whole", "whole.slice(0, -40)", "whole.replace(/.{8}(?=.{40}$)/, 'AAAAAAAA')"])
def test_a_file_that_is_cut_is_told_in_words_for_readers(open_html, harm):
    page = open_html(Playground().html(), asleep=True).page
    page.evaluate(f"for (const [part, whole] of Object.entries(transformerModels)) transformerModels[part] = {harm}")
    page.locator(".te-sentence-input").focus()
    expect(page.locator(".te-words")).to_contain_text("could not be loaded (the file of weights is damaged)")
