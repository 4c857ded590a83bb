"""The tokenizer: every text comes back, no text becomes a special token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.conftest import refusals
from transformer_edu.data import SPECIALS, train_pairs
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.data.tokenizer import SMALLEST, Tokenizer

TEXTS = [text for pair in train_pairs(300) for text in pair]
TOKENIZER = Tokenizer.train(TEXTS, vocab_size=400)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back_exactly(text):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert all(len(SPECIALS) <= index < len(TOKENIZER) for index in ids)


@pytest.mark.parametrize("text", ["", "  two  ", "<eos>", "<pad> <bos>", "▁x", "a\tb\nc\r", "\ufeffx", "e\u0301", "🦊"])
def test_awkward_texts_come_back_exactly(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
    assert TOKENIZER.encode_batch([text, "x"])[0] == TOKENIZER.encode(text)


def test_a_known_word_is_one_token_wherever_it_stands_and_decoding_stops_at_the_end():
    ids = TOKENIZER.encode("the cat")
    assert ids[0] == TOKENIZER.encode("see the")[-1]
    assert TOKENIZER.id_to_token(ids[0]) == "·the"
    assert TOKENIZER.decode([TOKENIZER.bos_id, *ids, TOKENIZER.eos_id, *ids, TOKENIZER.pad_id]) == "the cat"


def test_tokens_show_bytes_that_are_no_character():
    assert TOKENIZER.tokens("☃") == ["·", "<0xE2>", "<0x98>", "<0x83>"]
    assert [TOKENIZER.id_to_token(index) for index in range(4)] == list(SPECIALS)


def test_the_same_text_gives_the_same_tokens_and_they_are_saved_and_loaded(tmp_path):
    again = Tokenizer.train(TEXTS, 400)
    assert again == TOKENIZER != Tokenizer.train(TEXTS, 399)
    assert hash(again) == hash(TOKENIZER)
    again.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json") == TOKENIZER


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda text: text[:500], r"it\.json is damaged"),
        (lambda text: text.replace("<eos>", "<end>"), "first four tokens"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, spoil, says):
    (tmp_path / "it.json").write_text(spoil(TOKENIZER.to_str()))
    with pytest.raises(ValueError, match=says):
        Tokenizer.load(tmp_path / "it.json")


HALF = r"text must be made of whole characters, got '\\udcff' at place 2: 'a \\udcff'"


test_bad_input_is_named = refusals(
    (lambda: Tokenizer.train("one string", 400), TypeError, "texts must be a list of sentences"),
    (lambda: Tokenizer.train(["", ""], 400), ValueError, "texts must hold at least one sentence"),
    (lambda: Tokenizer.train(["a"], SMALLEST - 1), ValueError, f"vocab_size must be at least {SMALLEST}"),
    (lambda: TOKENIZER.decode([400]), ValueError, r"id must be in 0 \.\. 399, got 400"),
    (lambda: TOKENIZER.encode("a \udcff"), ValueError, HALF),
    (lambda: TOKENIZER.encode_batch(["x", "a \udcff"]), ValueError, HALF),
    (lambda: Tokenizer.train(["a \udcff"], 300), ValueError, HALF),
)


def test_a_text_without_an_end_of_words_is_not_learnt_from_and_more_tokens_than_there_are_may_be_asked_for():
    endless = "h" * 200_000  # learning takes the square of a word's length
    assert Tokenizer.train([*TEXTS, endless, f"{'9' * 2000} {endless}"], 400) == Tokenizer.train([*TEXTS, " "], 400)
    assert len(Tokenizer.train(["the cat"], 10**15)) == len(Tokenizer.train(["the cat"], 400)) < 400


@pytest.mark.slow
def test_the_shipped_tokenizer_is_still_what_the_shipped_text_teaches_and_gives_every_text_back(corpus_folder, root):
    texts = [text for pair in multi30k_pairs("train", corpus_folder) for text in pair]
    shipped = Tokenizer.load(root / "transformer_edu/pretrained/multi30k-de-en/tokenizer.json")
    assert Tokenizer.train(texts, 6000) == shipped
    unseen = [text for pair in multi30k_pairs("val", corpus_folder) for text in pair]
    assert [shipped.decode(ids) for ids in shipped.encode_batch(unseen)] == unseen
