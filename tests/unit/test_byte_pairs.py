"""Byte-pair merges: the library's merges in the library's order, and words cut as the library cuts them."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from transformer_edu import checks
from transformer_edu.data.byte_pairs import END, apply_merges, count_pairs, learn_merges, merge

WORD = st.text("abcdeé😀", min_size=1, max_size=8)
TEXT = st.lists(WORD | st.text("ab", min_size=1, max_size=8), min_size=1, max_size=10)
EVERYTHING = 10_000


def library(words: list[str], vocab_size: int = EVERYTHING) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(word + END for word in words)], trainer)
    return tokenizer


def library_merges(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    return [(left, right) for left, right in json.loads(tokenizer.to_str())["model"]["merges"]]


@settings(max_examples=300)
@given(TEXT, WORD)
def test_merges_and_cuts_are_the_librarys(words: list[str], new_word: str) -> None:
    merges = learn_merges(Counter(words), EVERYTHING)
    tokenizer = library(words)
    assert library_merges(tokenizer) == merges
    known = tokenizer.get_vocab()
    for word in [*words, new_word]:
        cut = [symbol if symbol in known else "<unk>" for symbol in apply_merges(word, merges)]
        assert cut == tokenizer.encode(word + END).tokens


@settings(max_examples=100)
@given(TEXT, st.integers(0, 12))
def test_fewer_merges_are_the_first_ones(words: list[str], num_merges: int) -> None:
    assert learn_merges(Counter(words), num_merges) == learn_merges(Counter(words), EVERYTHING)[:num_merges]


def test_the_librarys_vocabulary_size_stops_it_after_the_same_merges() -> None:
    words = ["low", "low", "lower", "newest", "newest", "wider"]
    characters = {symbol for word in words for symbol in word} | {END, "<unk>"}
    assert library_merges(library(words, len(characters) + 4)) == learn_merges(Counter(words), 4)


def test_the_paper_s_example() -> None:
    merges = learn_merges({"low": 5, "lowest": 2, "newer": 6, "wider": 3}, 4)
    assert set(merges) == {("e", "r"), ("er", END), ("l", "o"), ("lo", "w")}
    assert apply_merges("lower", merges) == ["low", "er" + END]


def test_a_run_of_one_letter_is_counted_in_overlaps_and_merged_from_the_left() -> None:
    words = {("a", "a", "a", END): 3}
    assert count_pairs(words) == {("a", "a"): 6, ("a", END): 3}
    assert merge(words, ("a", "a")) == {("aa", "a", END): 3}


def test_no_words_give_no_merges() -> None:
    assert learn_merges({}, 5) == []
    assert apply_merges("cat", []) == ["c", "a", "t", END]
    with pytest.raises(ValueError, match="num_merges must be at least 0, got -1"):
        learn_merges({"a": 1}, -1)


@pytest.mark.usefixtures("as_readers_run_it")
def test_the_library_itself_passes_the_check_also_with_lists_for_pairs() -> None:
    def by_the_library(word_counts: dict[str, int], num_merges: int) -> list[list[str]]:
        words = [word for word, count in word_counts.items() for _ in range(count)]
        return [list(pair) for pair in library_merges(library(words))[:num_merges]]

    checks.check_byte_pair_merges(by_the_library)


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "is the `return` missing"),
        ("ab", "returned a str, expected a list of pairs"),
        ([("a", "b", "c")], r"returned \('a', 'b', 'c'\) among the merges"),
        (["ab"], "returned 'ab' among the merges"),
    ],
)
def test_something_else_than_pairs_is_named(answer: object, words: str) -> None:
    with pytest.raises(checks.CheckFailed, match=words):
        checks.check_byte_pair_merges(lambda word_counts, num_merges: answer)  # type: ignore[arg-type,return-value]
