"""Properties of the data that hold for every input that hypothesis thinks of."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_edu.data import BOS_ID, EOS_ID, PAD_ID, Vocabulary, align, make_batch, parse, translate, vocabularies
from transformer_edu.data.corpus import random_sentence

WORDS = st.lists(st.text("abcdeé", min_size=1, max_size=4), min_size=1, max_size=12)
IDS = st.lists(st.integers(4, 50), min_size=1, max_size=9)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6)


@given(WORDS)
def test_vocabulary_decodes_what_it_encoded(words):
    sentence = " ".join(words)
    vocabulary = Vocabulary.from_sentences([sentence])
    ids = vocabulary.encode(sentence, add_bos=True, add_eos=True)
    assert vocabulary.decode(ids) == sentence
    assert max(ids) < len(vocabulary)


@pytest.mark.long
@given(PAIRS)
def test_padding_adds_nothing_and_loses_nothing(pairs):
    batch = make_batch(pairs)
    for row, (source, target) in enumerate(pairs):
        assert [i for i in batch.source[row].tolist() if i != PAD_ID] == source
        assert [i for i in batch.target_in[row].tolist() if i != PAD_ID] == [BOS_ID, *target]
        assert [i for i in batch.target_out[row].tolist() if i != PAD_ID] == [*target, EOS_ID]
    assert batch.source.shape[1] == max(len(source) for source, _ in pairs)
    assert batch.tokens == sum(len(target) + 1 for _, target in pairs)


@given(PAIRS)
@pytest.mark.long
def test_target_out_is_target_in_one_step_later(pairs):
    batch = make_batch(pairs)
    inside = batch.target_in[:, 1:] != PAD_ID
    assert (batch.target_in[:, 1:][inside] == batch.target_out[:, :-1][inside]).all()


@settings(max_examples=200)
@given(st.integers(0, 10**9))
@pytest.mark.long
def test_every_sentence_is_parsed_translated_and_aligned(seed):
    sentence = random_sentence(random.Random(seed))
    english, french = sentence.pair()
    assert parse(english) == sentence
    assert translate(english) == french
    source, target = vocabularies()
    assert not source.unknown_words(english)
    assert not target.unknown_words(french)
    pairs = align(english)
    assert {i for i, _ in pairs} == set(range(len(english.split())))
    assert {j for _, j in pairs} == set(range(len(french.split())))
