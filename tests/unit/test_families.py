"""What the families are taught: inputs and targets line up, and no answer stands in what is seen."""

import math
import random
from itertools import islice, product

import pytest
import torch

from transformer_edu.book.experiments import families, families_examples
from transformer_edu.book.experiments.families_examples import (
    GAP_IDS,
    MASK_ID,
    UNTRAINED,
    VOCABULARY,
    gaps_filled,
    grammar_log_probability,
    hidden_words,
    is_sentence,
    next_words,
    place_of,
    random_gaps,
    two_dots,
    with_gaps,
    words_of,
)
from transformer_edu.data import BOS_ID, EOS_ID, PAD_ID, NounPhrase, Sentence, parse
from transformer_edu.data.corpus import AFTER, ANIMALS, BEFORE, sentences
from transformer_edu.data.lexicon import DETERMINERS, VERBS

ROWS = [words_of(sentence) for sentence in islice(sentences(0, "all"), 400)]
DISTINCT = list(range(10, 20))


def test_gpt_is_asked_at_each_place_for_the_word_that_it_reads_next():
    (inputs,), targets = next_words(ROWS[:20])
    assert (inputs[:, 0] == BOS_ID).all()
    real = targets != UNTRAINED
    torch.testing.assert_close(targets[:, :-1][real[:, 1:]], inputs[:, 1:][real[:, 1:]])
    assert [row[kept].tolist() for row, kept in zip(targets, real, strict=True)] == [[*r, EOS_ID] for r in ROWS[:20]]


def test_bert_is_asked_for_a_share_of_the_words_and_sees_eight_in_ten_of_them_masked():
    torch.manual_seed(0)
    (inputs,), targets = hidden_words(ROWS)
    (shown,), _ = hidden_words(ROWS, share=0.0)
    asked = targets != UNTRAINED
    words = (shown != BOS_ID) & (shown != EOS_ID) & (shown != PAD_ID)
    assert not (asked & ~words).any()
    assert torch.equal(targets[asked], shown[asked])
    assert torch.equal(inputs[~asked], shown[~asked])
    assert float(asked.sum() / words.sum()) == pytest.approx(0.15, abs=0.03)
    masked, same = inputs[asked] == MASK_ID, inputs[asked] == shown[asked]
    assert float(masked.float().mean()) == pytest.approx(0.8, abs=0.05)
    assert float(same.float().mean()) == pytest.approx(0.1, abs=0.04)
    other = inputs[asked & (inputs != MASK_ID)]
    assert ((other >= 4) & (other < MASK_ID)).all()


def test_t5_reads_what_is_left_and_is_asked_for_what_was_taken():
    source, answer = with_gaps(DISTINCT, [(1, 3), (7, 8)])
    assert source == [10, GAP_IDS[0], 13, 14, 15, 16, GAP_IDS[1], 18, 19, EOS_ID]
    assert answer == [GAP_IDS[0], 11, 12, GAP_IDS[1], 17, EOS_ID]
    (_, so_far), targets = gaps_filled([DISTINCT, DISTINCT], [[(1, 3), (7, 8)], [(0, 1)]])
    assert targets.tolist() == [answer, [GAP_IDS[0], 10, EOS_ID, *[UNTRAINED] * 3]]
    assert so_far.tolist() == [[BOS_ID, *answer[:-1]], [BOS_ID, GAP_IDS[0], 10, EOS_ID, PAD_ID, PAD_ID]]


def test_gaps_are_inside_apart_and_of_one_to_three_words():
    rng = random.Random(0)
    for length in (2, 3, 11) * 100:
        gaps = random_gaps(length, rng)
        assert 1 <= len(gaps) <= 2
        assert all(0 <= start < stop <= min(length, start + 3) for start, stop in gaps)
        assert len(gaps) == 1 or gaps[0][1] < gaps[1][0]
        source, answer = with_gaps(list(range(10, 10 + length)), gaps)
        marks = {*GAP_IDS, EOS_ID}
        assert sorted({*source, *answer} - marks) == list(range(10, 10 + length))
        assert not ({*source} & {*answer}) - marks


@pytest.mark.parametrize("family", ["gpt", "bert", "t5"])
def test_what_a_place_is_asked_for_does_not_change_what_it_answers(family, monkeypatch):
    monkeypatch.setattr(families_examples.torch, "rand", lambda shape: torch.zeros(shape))  # all hidden by <mask>
    model = {
        "gpt": lambda: families.GPT(families.GPTConfig(**families.TEXT)),
        "bert": lambda: families.BERT(families.BERTConfig(**families.TEXT)),
        "t5": lambda: families.T5(families.T5Config(**families.TEXT)),
    }[family]()
    examples = {
        "gpt": next_words,
        "bert": hidden_words,
        "t5": lambda rows: gaps_filled(rows, [[(2, 5)]] * len(rows)),
    }
    row = DISTINCT[:8]
    for place in (2, 3, 4):
        (one, targets), (other, turned) = (
            examples[family](rows) for rows in ([row], [[*row[:place], 30, *row[place + 1 :]]])
        )
        at = int((targets != turned)[0].nonzero()[0])
        with torch.no_grad():
            torch.testing.assert_close(model(*one)[0, : at + 1], model(*other)[0, : at + 1])


def test_the_grammars_probabilities_sum_to_one():
    phrases = [
        NounPhrase(determiner, noun, plural, before, after)
        for determiner, noun, before, after in product(DETERMINERS, ANIMALS, (None, *BEFORE), (None, *AFTER))
        for plural in ((False, True) if determiner.plural else (False,))
    ]
    sleep = next(verb for verb in VERBS if not verb.transitive)
    total = sum(math.exp(grammar_log_probability(Sentence(phrase, sleep))) for phrase in phrases)
    assert total == pytest.approx(1 / (2 * len(VERBS)))


@pytest.mark.parametrize("negated", [False, True])
def test_the_object_of_a_negated_verb_has_three_determiners_to_choose_from(negated):
    text = ["the cow sees the hat", "the cow does not see the hat"][negated]
    expected = 15 * 2 * (4 * 2 * 4 * 13) * ((3 if negated else 4) * 2 * 4 * 19)
    assert -grammar_log_probability(parse(text)) == pytest.approx(math.log(expected))


def test_a_sentence_is_what_the_grammar_accepts():
    assert all(is_sentence(VOCABULARY.decode(row)) for row in ROWS)
    assert not any(map(is_sentence, ["", "the cats sleeps", "the cat sleep", "the cat sees", "<X> cat sleeps"]))


def test_answers_are_put_into_the_gaps_they_name():
    source, answer = with_gaps(ROWS[0], [(0, 1), (2, 3)])
    assert families._filled(source, answer) == VOCABULARY.decode(ROWS[0])
    assert GAP_IDS[1] in source
    assert families._filled(source, answer[:2]).split().count("<Y>") == 1, "a gap that is not answered stays"


def test_number_right_asks_for_the_number_that_is_hidden():
    class Left(families.GPT):
        def forward(self, ids, cache=None):  # knows all nouns for singular, whatever it reads
            logits = torch.zeros(*ids.shape, len(VOCABULARY))
            logits[..., VOCABULARY.encode(families.FORMS["noun"][0])] = 9.0
            return logits

    single = [not sentence.subject.plural for sentence in families_examples.either_number(200)]
    found = families.number_right(Left(families.GPTConfig(**families.TEXT)), "noun", 200)
    assert found == pytest.approx(sum(single) / 200)
    assert 0.4 < found < 0.6
    assert place_of(parse("the small cat does not sleep"), "verb") == 3


def test_the_class_of_an_image_is_the_quadrant_of_its_brightest_pixel():
    torch.manual_seed(0)
    images, quadrant = two_dots(200)
    place = images.flatten(1).argmax(dim=1)
    torch.testing.assert_close(quadrant, 2 * (place // 16 >= 8).long() + (place % 16 >= 8).long())
    assert set(quadrant.tolist()) == {0, 1, 2, 3}


@pytest.mark.long
@pytest.mark.parametrize("positions", [False, True])
def test_without_positions_patches_may_change_places(positions):
    model = families.train_vit(steps=1, positions=positions).model
    images = torch.rand(3, 1, 16, 16)
    with torch.no_grad():
        shift = (model(images) - model(images.roll(4, dims=2))).abs().max()
    assert (shift > 1e-4) == positions
