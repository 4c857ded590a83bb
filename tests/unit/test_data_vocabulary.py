"""Words to ids and back."""

import json

import pytest

from tests.unit.conftest import refusals
from transformer_edu.data import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Vocabulary


@pytest.fixture
def vocabulary():
    return Vocabulary.from_sentences(["the black cat", "the cat sleeps"])


def test_special_tokens_have_the_ids_that_the_book_uses(vocabulary):
    assert SPECIALS == ("<pad>", "<bos>", "<eos>", "<unk>")
    assert [vocabulary.encode([word])[0] for word in SPECIALS] == [PAD_ID, BOS_ID, EOS_ID, UNK_ID] == [0, 1, 2, 3]


def test_words_in_any_order_get_the_same_ids_and_unknown_ones_are_marked_and_listed(vocabulary):
    assert vocabulary == Vocabulary.from_sentences(["cat sleeps the", "black the"])
    assert vocabulary.unknown_words("the blue cat flies") == ["blue", "flies"]
    assert [word in vocabulary for word in ("cat", "blue")] == [True, False]
    ids = vocabulary.encode("the blue cat", add_eos=True)
    assert ids[1] == UNK_ID
    assert vocabulary.decode([*ids, PAD_ID, *ids]) == "the <unk> cat"


def test_it_is_saved_as_plain_json_and_loaded(vocabulary, tmp_path):
    accented = Vocabulary([*vocabulary.words[4:], "chèvre"])
    accented.save(tmp_path / "words.json")
    assert json.loads((tmp_path / "words.json").read_text())["words"] == ["black", "cat", "sleeps", "the", "chèvre"]
    assert Vocabulary.load(tmp_path / "words.json") == accented


@pytest.mark.parametrize("content", ["", "[]", '{"words": 3}', '{"words": ["a", "a"]}', '{"other": []}', "\udcff"])
def test_damaged_file_is_an_error_that_names_it(content, tmp_path):
    (tmp_path / "words.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"words\.json"):
        Vocabulary.load(tmp_path / "words.json")


test_bad_words_and_ids_are_named = refusals(
    (lambda: Vocabulary(["cat", "cat"]), ValueError, r"got twice: \['cat'\]"),
    (lambda: Vocabulary(["<pad>"]), ValueError, "got twice: .*<pad>"),
    (lambda: Vocabulary(["two words"]), ValueError, "got 'two words'"),
    (lambda: Vocabulary([""]), ValueError, "got ''"),
    (lambda: Vocabulary([3]), ValueError, "got 3"),
    (lambda: Vocabulary("cat"), TypeError, "words must be a list of words, got one string: 'cat'"),
    (lambda: Vocabulary.from_sentences("the cat"), TypeError, "sentences must be a list"),
    (lambda: Vocabulary(["cat"]).decode([-1]), ValueError, "0 .. 4, got -1"),
    (lambda: Vocabulary(["cat"]).decode([5]), ValueError, "0 .. 4, got 5"),
)
