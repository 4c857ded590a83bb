"""The merge stepper, with the tokenizers library's merges."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.browser.figure_page import Show
from transformer_edu.data.byte_pairs import END, Words, count_pairs, merge
from transformer_edu.widgets import MergeStepper
from transformer_edu.widgets.merge_stepper import TEXT

TEXTS = st.lists(st.text("abcé😀", min_size=1, max_size=7), min_size=1, max_size=9).map(" ".join)
ROW = "node => [node.dataset.left, node.dataset.right]"


@pytest.fixture
def stepper(show: Show) -> Page:
    return show(MergeStepper(), height=900)


def library(text: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=10_000, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(word + END for word in text.split())], trainer)
    return tokenizer


def merges_of(tokenizer: Tokenizer) -> list[list[str]]:
    merges: list[list[str]] = json.loads(tokenizer.to_str())["model"]["merges"]
    return merges


def slide(page: Page, step: int) -> None:
    page.get_by_role("slider", name="merges").fill(str(step))


def shown_merges(page: Page) -> Any:
    return page.locator(".te-bpe-made li").evaluate_all(f"all => all.map({ROW})")


def shown_words(page: Page) -> Words:
    found = page.locator(".te-bpe-word").evaluate_all(
        "all => all.map(node => [[...node.querySelectorAll('[data-symbol]')].map(s => s.dataset.symbol),"
        "node.dataset.count])"
    )
    return {tuple(symbols): int(count) for symbols, count in found}


def shown_pairs(page: Page) -> list[tuple[tuple[str, str], int]]:
    found = page.locator(".te-bpe-pair").evaluate_all(f"all => all.map(node => [({ROW})(node), node.dataset.count])")
    return [((pair[0], pair[1]), int(count)) for pair, count in found]


def number(page: Page, name: str) -> int:
    return int(page.locator(f"[data-name={name}]").get_attribute("data-value") or "-1")


def cut(page: Page) -> list[str]:
    found: list[str] = page.locator(".te-bpe-cut [data-symbol]").evaluate_all(
        "all => all.map(node => node.classList.contains('te-bpe-unknown') ? '<unk>' : node.dataset.symbol)"
    )
    return found


def said(page: Page) -> str:
    return page.locator(".te-bpe-sentence").inner_text()


def test_every_step_shows_the_words_their_pairs_and_the_sizes(stepper: Page) -> None:
    merges = merges_of(library(TEXT))
    words: Words = {(*word, END): count for word, count in Counter(TEXT.split()).items()}
    characters = len({symbol for word in words for symbol in word})
    slide(stepper, 0)
    for step in range(len(merges) + 1):
        assert shown_words(stepper) == words
        assert shown_merges(stepper) == merges[:step]
        pairs = count_pairs(words)
        top = shown_pairs(stepper)
        assert [count for _, count in top] == [count for _, count in pairs.most_common(6)]
        assert all(pairs[pair] == count for pair, count in top)
        assert number(stepper, "vocabulary") == characters + 1 + step
        assert number(stepper, "total") == sum(len(symbols) * count for symbols, count in words.items())
        if step < len(merges):
            assert top[0][0] == tuple(merges[step])
            words = merge(words, (merges[step][0], merges[step][1]))
            stepper.get_by_role("button", name="Next merge").click()
    assert "no pair is left" in said(stepper)
    assert stepper.get_by_role("button", name="Next merge").get_attribute("aria-disabled") == "true"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.text("abcé😀x", min_size=1, max_size=7))
def test_typed_text_gives_the_librarys_merges_and_cuts(stepper: Page, text: str, word: str) -> None:
    tokenizer = library(text)
    stepper.get_by_label("Text", exact=True).fill(text)
    stepper.get_by_label("Cut a new word").fill(word)
    slide(stepper, 10_000)
    assert shown_merges(stepper) == merges_of(tokenizer)
    assert cut(stepper) == tokenizer.encode(word + END).tokens


def test_a_tie_is_explained(stepper: Page) -> None:
    slide(stepper, 0)
    assert "A tie with c + a: the left symbol decides, a came into the vocabulary before c." in said(stepper)
    stepper.get_by_label("Text", exact=True).fill("ab ac")
    assert "the right symbol decides, b came into the vocabulary before c" in said(stepper)
    assert stepper.locator(".te-bpe-flag").all_inner_texts() == ["next", "tie", "tie", "tie"]


def test_unknown_characters_are_named(stepper: Page) -> None:
    assert cut(stepper) == ["<unk>", "old", "er·"]
    assert "“bolder”: b is not in the text, so it becomes <unk>" in stepper.locator(".te-bpe-try").inner_text()
    stepper.get_by_label("Cut a new word").fill("colder")
    assert cut(stepper) == ["c", "old", "er·"]
    assert "“colder”: every character is known" in stepper.locator(".te-bpe-try").inner_text()


def test_no_text_too_many_words_and_reset(stepper: Page) -> None:
    text = stepper.get_by_label("Text", exact=True)
    text.fill("  ")
    assert "Type some words" in said(stepper)
    assert shown_words(stepper) == {}
    text.fill(" ".join(f"w{i}" for i in range(33)))
    assert "Only the first 30 different words are used" in said(stepper)
    assert len(shown_words(stepper)) == 30
    stepper.get_by_role("button", name="Reset").click()
    assert stepper.get_by_label("Text", exact=True).input_value() == TEXT
    assert [left + right for left, right in shown_merges(stepper)] == ["at", "cat", "er", "ld", "old", "er·"]
