"""Byte-pair merges: the library's merges in the library's order, and words cut as the library cuts them."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from transformer_edu import checks
from transformer_edu.data.byte_pairs import END, apply_merges, learn_merges

WORD = st.text("abcdeé😀", min_size=1, max_size=8)
TEXT = st.lists(WORD | st.text("ab", min_size=1, max_size=8), min_size=1, max_size=10)
EVERYTHING = 10_000


def library(words):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=EVERYTHING, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(word + END for word in words)], trainer)
    return tokenizer


def library_merges(tokenizer):
    return [(left, right) for left, right in json.loads(tokenizer.to_str())["model"]["merges"]]


@settings(max_examples=300)
@given(TEXT, WORD)
@pytest.mark.long
def test_merges_and_cuts_are_the_librarys(words, new_word):
    merges = learn_merges(Counter(words), EVERYTHING)
    tokenizer = library(words)
    assert library_merges(tokenizer) == merges
    known = tokenizer.get_vocab()
    for word in [*words, new_word]:
        cut = [symbol if symbol in known else "<unk>" for symbol in apply_merges(word, merges)]
        assert cut == tokenizer.encode(word + END).tokens


@settings(max_examples=100)
@given(TEXT, st.integers(0, 12))
@pytest.mark.long
def test_fewer_merges_are_the_first_ones(words, num_merges):
    assert learn_merges(Counter(words), num_merges) == learn_merges(Counter(words), EVERYTHING)[:num_merges]


def test_the_paper_s_example():
    merges = learn_merges({"low": 5, "lowest": 2, "newer": 6, "wider": 3}, 4)
    assert set(merges) == {("e", "r"), ("er", END), ("l", "o"), ("lo", "w")}
    assert apply_merges("lower", merges) == ["low", "er" + END]


def test_no_words_give_no_merges():
    assert learn_merges({}, 5) == []
    assert apply_merges("cat", []) == ["c", "a", "t", END]
    with pytest.raises(ValueError, match="num_merges must be at least 0, got -1"):
        learn_merges({"a": 1}, -1)


@pytest.mark.usefixtures("as_readers_run_it")
def test_the_library_itself_passes_the_check_also_with_lists_for_pairs():
    def by_the_library(word_counts, num_merges):
        return [list(pair) for pair in library_merges(library(list(Counter(word_counts).elements())))[:num_merges]]

    checks.check_byte_pair_merges(by_the_library)  # type: ignore[arg-type]
