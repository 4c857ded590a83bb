"""The merge stepper, with the tokenizers library's merges."""

import json
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.browser.figure_page import act, number, play
from transformer_edu.book.figures.merge_stepper import TEXT
from transformer_edu.data.byte_pairs import END, count_pairs, merge

TEXTS = st.lists(st.text("abcé😀", min_size=1, max_size=7), min_size=1, max_size=9).map(" ".join)
ROW = "node => [node.dataset.left, node.dataset.right]"


def library(text):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=10_000, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(word + END for word in text.split())], trainer)
    return tokenizer


def merges_of(tokenizer):
    return json.loads(tokenizer.to_str())["model"]["merges"]


def shown_merges(page):
    return page.locator(".te-bpe-made li").evaluate_all(f"all => all.map({ROW})")


def shown_words(page):
    found = page.locator(".te-bpe-word").evaluate_all(
        "all => all.map(node => [[...node.querySelectorAll('[data-symbol]')].map(s => s.dataset.symbol),"
        "node.dataset.count])"
    )
    return {tuple(symbols): int(count) for symbols, count in found}


def shown_pairs(page):
    found = page.locator(".te-bpe-pair").evaluate_all(f"all => all.map(node => [({ROW})(node), node.dataset.count])")
    return [((pair[0], pair[1]), int(count)) for pair, count in found]


def cut(page):
    return page.locator(".te-bpe-cut [data-symbol]").evaluate_all(
        "all => all.map(node => node.classList.contains('te-bpe-unknown') ? '<unk>' : node.dataset.symbol)"
    )


def test_every_step_shows_the_words_their_pairs_and_the_sizes(page):
    merges = merges_of(library(TEXT))
    words = {(*word, END): count for word, count in Counter(TEXT.split()).items()}
    characters = len({symbol for word in words for symbol in word})
    act(page, "slider merges = 0")
    for step in range(len(merges) + 1):
        assert shown_words(page) == words
        assert shown_merges(page) == merges[:step]
        pairs = count_pairs(words)
        top = shown_pairs(page)
        assert [count for _, count in top] == [count for _, count in pairs.most_common(6)]
        assert all(pairs[pair] == count for pair, count in top)
        assert number(page, "[data-name=vocabulary]") == characters + 1 + step
        assert number(page, "[data-name=total]") == sum(len(symbols) * count for symbols, count in words.items())
        if step < len(merges):
            assert top[0][0] == tuple(merges[step])
            words = merge(words, (merges[step][0], merges[step][1]))
            act(page, "button Next merge")
    play(page, "no pair is left")
    assert page.get_by_role("button", name="Next merge").get_attribute("aria-disabled") == "true"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, st.text("abcé😀x", min_size=1, max_size=7))
def test_typed_text_gives_the_librarys_merges_and_cuts(page, text, word):
    tokenizer = library(text)
    act(page, f"textbox Text = {text}", f"textbox Cut one word = {word}", "slider merges = 10000")
    assert shown_merges(page) == merges_of(tokenizer)
    assert cut(page) == tokenizer.encode(word + END).tokens


def test_marks_unknown_pieces_and_what_reset_brings_back(page):
    assert cut(page) == ["<unk>", "old", "er·"]
    act(page, "textbox Cut one word = colder")
    assert cut(page) == ["c", "old", "er·"]
    act(page, "slider merges = 0", "textbox Text = ab ac")
    assert page.locator(".te-bpe-flag").all_inner_texts() == ["next", "tie", "tie", "tie"]
    act(page, "textbox Text = ")
    assert shown_words(page) == {}
    act(page, "textbox Text = " + " ".join(f"w{i}" for i in range(33)))
    assert len(shown_words(page)) == 30
    act(page, "button Reset")
    assert [left + right for left, right in shown_merges(page)] == ["at", "cat", "er", "ld", "old", "er·"]
