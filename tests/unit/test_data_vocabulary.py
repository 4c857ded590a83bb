"""Words to ids and back."""

import json
import os

import pytest

from transformer_edu.data import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Vocabulary
from transformer_edu.support.files import write_atomically


@pytest.fixture
def vocabulary() -> Vocabulary:
    return Vocabulary.from_sentences(["the black cat", "the cat sleeps"])


def test_special_tokens_have_the_ids_that_the_book_uses(vocabulary):
    assert SPECIALS == ("<pad>", "<bos>", "<eos>", "<unk>")
    assert [vocabulary.encode([word])[0] for word in SPECIALS] == [PAD_ID, BOS_ID, EOS_ID, UNK_ID] == [0, 1, 2, 3]


def test_order_of_sentences_does_not_change_the_ids(vocabulary):
    assert vocabulary == Vocabulary.from_sentences(["cat sleeps the", "black the"])
    assert len(vocabulary) == 4 + 4


def test_encode_then_decode_gives_the_sentence_back(vocabulary):
    ids = vocabulary.encode("the black cat", add_bos=True, add_eos=True)
    assert (ids[0], ids[-1], len(ids)) == (BOS_ID, EOS_ID, 5)
    assert vocabulary.decode([*ids, PAD_ID, PAD_ID]) == "the black cat"


def test_decode_stops_at_the_first_end_token(vocabulary):
    ids = vocabulary.encode("cat", add_eos=True) + vocabulary.encode("the")
    assert vocabulary.decode(ids) == "cat"


def test_unknown_words_are_marked_and_listed(vocabulary):
    assert vocabulary.encode("the blue cat")[1] == UNK_ID
    assert vocabulary.unknown_words("the blue cat flies") == ["blue", "flies"]
    assert "cat" in vocabulary
    assert "blue" not in vocabulary


def test_save_and_load_round_trip(vocabulary, tmp_path):
    accented = Vocabulary([*vocabulary.words[4:], "chèvre"])
    accented.save(tmp_path / "words.json")
    assert Vocabulary.load(tmp_path / "words.json") == accented


@pytest.mark.parametrize("content", ["", "{", "[]", '{"words": 3}', '{"words": ["a", "a"]}', '{"other": []}', "\udcff"])
def test_damaged_file_is_an_error_that_names_it(content, tmp_path):
    path = tmp_path / "words.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"words\.json"):
        Vocabulary.load(path)


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (["cat", "cat"], ValueError, "cat"),
        (["<pad>"], ValueError, "<pad>"),
        (["two words"], ValueError, "two words"),
        ([""], ValueError, "''"),
        ([3], ValueError, "3"),
        ("cat", TypeError, "words must be a list"),
    ],
)
def test_bad_words_are_refused(as_readers_run_it, words, error, says):
    with pytest.raises(error, match=says):
        Vocabulary(words)


def test_one_string_is_not_a_list_of_sentences():
    with pytest.raises(TypeError, match="sentences must be a list"):
        Vocabulary.from_sentences("the cat")


@pytest.mark.parametrize("index", [-1, 8])
def test_id_outside_the_vocabulary_is_refused(vocabulary, index):
    with pytest.raises(ValueError, match=f"0 .. 7, got {index}"):
        vocabulary.decode([index])


def test_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    write_atomically(path, b"old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new and longer")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_saved_vocabulary_is_plain_json(vocabulary, tmp_path):
    vocabulary.save(tmp_path / "words.json")
    assert json.loads((tmp_path / "words.json").read_text())["words"] == ["black", "cat", "sleeps", "the"]
