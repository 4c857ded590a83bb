"""Text in, text out: batches, orders, odd texts, alignments."""

import pytest
import torch

from tests.unit.small_model import POSITIONS, make_model
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.translate.translator import Translator, load_translator

pytestmark = pytest.mark.usefixtures("at_readers_speed")
TEXTS = ["the small cat sleeps", "a dog", "the red hen sees the big cat", "cats"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return load_translator(make_model(tmp_path_factory.mktemp("model")))


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_text_is_translated_as_alone_whatever_comes_with_it(translator, beam_size):
    together = translator.translate_all(TEXTS, beam_size=beam_size, max_len=12)
    for text, (best,) in zip(TEXTS, together, strict=True):
        assert best.ids == translator.translate_all([text], beam_size=beam_size, max_len=12)[0][0].ids
        assert best.text == translator.tokenizer.decode(best.ids)
        assert translator.translate(text, beam_size=beam_size, max_len=12) == best.text


def test_greedy_answers_have_their_log_probability(translator):
    (greedy,) = translator.translate_all(TEXTS[:1], beam_size=1, max_len=12)[0]
    (beam,) = translator.translate_all(TEXTS[:1], beam_size=1, max_len=12, length_penalty=0.0)[0]
    source = torch.tensor([translator.tokenizer.encode(TEXTS[0])])
    ids = torch.tensor([greedy.ids])
    with torch.no_grad():
        steps = torch.log_softmax(translator.model(source, ids[:, :-1]), dim=-1).gather(-1, ids[:, 1:, None])
    assert greedy.log_prob == pytest.approx(float(steps.sum()), abs=1e-4)
    assert beam.score == pytest.approx(greedy.log_prob, abs=1e-4)


def test_empty_and_odd_texts_have_their_place(translator):
    answers = translator.translate_all(["", "<eos>", "", "☃ <b>"], max_len=5)
    assert len(answers) == 4
    assert answers[0][0].text == answers[2][0].text == ""
    assert translator.translate_all([]) == []


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"beam_size": 100_000}, ValueError, r"beam_size must be at most \d+, the tokens of the vocabulary"),
        ({"beam_size": 2.0}, TypeError, "beam_size must be a whole number"),
        ({"length_penalty": 500}, ValueError, "length_penalty must be from 0 to 10, got 500"),
        ({"max_len": POSITIONS + 1}, ValueError, f"max_len must be at most {POSITIONS}, the positions of this model"),
        ({"n_best": 3, "beam_size": 2}, ValueError, "n_best must be at most beam_size=2, got 3"),
        ({"temperature": 1.0}, TypeError, "search must be .* got temperature"),
    ],
)
def test_what_cannot_be_searched_with_is_named(translator, wrong, error, says):
    with pytest.raises(error, match=says):
        translator.translate_all([], **wrong)


@pytest.mark.parametrize(
    ("texts", "error", "says"),
    [
        ("cat", TypeError, "texts must be a list of sentences, got one string: 'cat'"),
        (["cat", 3], TypeError, r"texts must be a list of sentences, got texts\[1\] = 3"),
        (["cat \udcff"], ValueError, r"half a character \(a surrogate\) in texts\[0\]"),
        (["cat " * 100], ValueError, f"at most {POSITIONS} tokens, the positions of this model, got 1"),
    ],
)
def test_what_is_no_text_is_named(translator, texts, error, says):
    with pytest.raises(error, match=says):
        translator.translate_all(texts)


def test_alignment_names_the_source_piece_with_the_largest_mean_weight(translator):
    (best,) = translator.translate_all(TEXTS[:1], max_len=8)[0]
    found = translator.alignment(TEXTS[0], best)
    assert [written for written, _, _ in found] == [translator.tokenizer.id_to_token(index) for index in best.ids[1:]]
    pieces = translator.tokenizer.tokens(TEXTS[0])
    assert all(read in pieces and 1 / len(pieces) <= weight <= 1 for _, read, weight in found)


def test_the_tokenizer_of_another_model_is_refused(translator):
    with pytest.raises(ValueError, match="tokenizer must be that of the model"):
        Translator(translator.model, Tokenizer.train(TEXTS, 270))


def test_what_was_best_on_validation_is_the_default(translator):
    assert translator.search == {"beam_size": 4, "length_penalty": 0.6}
    card = {"search": {"beam_size": 2, "length_penalty": 1.0}}
    assert Translator(translator.model, translator.tokenizer, card).search == {"beam_size": 2, "length_penalty": 1.0}
