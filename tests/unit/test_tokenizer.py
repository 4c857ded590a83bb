"""Tokenizer: every text comes back, no text becomes a special token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_edu.data import SPECIALS, train_pairs
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.data.tokenizer import SMALLEST, Tokenizer

TOKENIZER = Tokenizer.train([text for pair in train_pairs(300) for text in pair], vocab_size=400)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back_exactly(text):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert all(len(SPECIALS) <= index < len(TOKENIZER) for index in ids)


@pytest.mark.parametrize(
    "text", ["", " ", "  two  ", "<eos>", "<pad> <bos>", "▁x", "a\tb\nc\r", "\ufeffx", "é e\u0301", "🦊"]
)
def test_awkward_texts_come_back_exactly(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
    assert TOKENIZER.encode_batch([text, "x"])[0] == TOKENIZER.encode(text)


def test_a_known_word_is_one_piece_wherever_it_stands():
    (first, *_), (*_, last) = TOKENIZER.encode("the cat"), TOKENIZER.encode("see the")
    assert first == last
    assert TOKENIZER.id_to_token(first) == "·the"


def test_decoding_stops_at_the_end_and_leaves_special_tokens_out():
    ids = TOKENIZER.encode("the cat")
    assert TOKENIZER.decode([TOKENIZER.bos_id, *ids, TOKENIZER.eos_id, *ids, TOKENIZER.pad_id]) == "the cat"


def test_pieces_show_bytes_that_are_no_character():
    assert TOKENIZER.tokens("☃") == ["·", "<0xE2>", "<0x98>", "<0x83>"]
    assert [TOKENIZER.id_to_token(index) for index in range(4)] == list(SPECIALS)


def test_the_same_text_gives_the_same_pieces_whatever_was_trained_before():
    texts = [text for pair in train_pairs(300) for text in pair]
    assert Tokenizer.train(texts, 400) == TOKENIZER
    assert hash(Tokenizer.train(texts, 400)) == hash(TOKENIZER)


def test_a_vocabulary_is_saved_and_loaded(tmp_path):
    TOKENIZER.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json") == TOKENIZER


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "cut.json").write_text(TOKENIZER.to_str()[:500])
    with pytest.raises(ValueError, match=r"cut\.json is damaged"):
        Tokenizer.load(tmp_path / "cut.json")
    (tmp_path / "other.json").write_text(TOKENIZER.to_str().replace("<eos>", "<end>"))
    with pytest.raises(ValueError, match="first four tokens"):
        Tokenizer.load(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("texts", "size", "error", "says"),
    [
        ("one string", 400, TypeError, "texts must be a list of sentences"),
        ([], 400, ValueError, "texts must hold at least one sentence"),
        (["", ""], 400, ValueError, "texts must hold at least one sentence"),
        (["a"], SMALLEST - 1, ValueError, f"vocab_size must be at least {SMALLEST}"),
    ],
)
def test_bad_input_is_named(texts, size, error, says):
    with pytest.raises(error, match=says):
        Tokenizer.train(texts, size)


@pytest.mark.parametrize(
    "use",
    [TOKENIZER.encode, lambda text: TOKENIZER.encode_batch(["x", text]), lambda text: Tokenizer.train([text], 300)],
)
def test_half_a_character_is_named(use):
    with pytest.raises(
        ValueError, match=r"text must be made of whole characters, got '\\udcff' at place 2: 'a \\udcff'"
    ):
        use("a \udcff")


def test_an_id_out_of_range_is_named():
    with pytest.raises(ValueError, match=r"id must be in 0 \.\. 399, got 400"):
        TOKENIZER.decode([400])


def test_real_text_comes_back_exactly(corpus_folder):
    pairs = multi30k_pairs("val", corpus_folder)
    texts = [text for pair in pairs for text in pair]
    tokenizer = Tokenizer.train(texts, 2000)
    assert len(tokenizer) == 2000
    assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(texts)] == texts


def test_a_text_without_an_end_of_words_is_not_learnt_from():
    texts = [text for pair in train_pairs(300) for text in pair]
    endless = "h" * 200_000  # learning takes the square of a word's length
    assert Tokenizer.train([*texts, endless, f"{'9' * 2000} {endless}"], 400) == Tokenizer.train([*texts, " "], 400)


def test_more_pieces_than_the_text_has_are_no_error():
    assert len(Tokenizer.train(["the cat"], 10**15)) == len(Tokenizer.train(["the cat"], 400)) < 400


@pytest.mark.slow
def test_the_shipped_subwords_are_still_what_the_shipped_text_teaches(corpus_folder, root):
    texts = [text for pair in multi30k_pairs("train", corpus_folder) for text in pair]
    shipped = root / "transformer_edu" / "pretrained" / "multi30k-de-en" / "tokenizer.json"
    assert Tokenizer.train(texts, 6000) == Tokenizer.load(shipped)
