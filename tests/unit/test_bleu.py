"""The book's BLEU gives sacrebleu's scores, and the commands give sacrebleu's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from tests.unit.conftest import refusals
from transformer_edu.training.bleu import corpus_bleu
from transformer_edu.training.evaluate import corpus_scores, lowercase_bleu

TOKENS = st.lists(st.sampled_from(["the", "black", "cat", "dog", "sleeps"]), max_size=12)
LONG = TOKENS.filter(lambda tokens: len(tokens) >= 6)


def sacrebleus(hypotheses, references):
    metric = BLEU(tokenize="none", smooth_method="none", effective_order=False)
    return metric.corpus_score([" ".join(h) for h in hypotheses], [[" ".join(r) for r in references]]).score


@given(st.lists(st.tuples(TOKENS, TOKENS.filter(bool)), min_size=1, max_size=8))
@pytest.mark.long
def test_a_corpus_scores_as_sacrebleu_scores_it(pairs):
    hypotheses, references = ([list(pair[side]) for pair in pairs] for side in (0, 1))
    assert corpus_bleu(hypotheses, references) == pytest.approx(sacrebleus(hypotheses, references), abs=1e-9)


@given(st.lists(st.tuples(LONG, st.integers(0, 2), TOKENS), min_size=1, max_size=5))
@pytest.mark.long
def test_answers_that_mostly_match_score_as_sacrebleu_scores_them(drafts):
    """Random corpora often score 0; these have matches of every n, words missing in front and words too many."""
    references = [reference for reference, _, _ in drafts]
    hypotheses = [reference[missing:] + extra for reference, missing, extra in drafts]
    assert corpus_bleu(references, references) == pytest.approx(100)
    score = corpus_bleu(hypotheses, references)
    assert score > 0
    assert score == pytest.approx(sacrebleus(hypotheses, references), abs=1e-9)


def test_nothing_said_or_nothing_long_enough_scores_0_and_in_a_corpus_nothing_less():
    assert corpus_bleu([[]], [["the", "cat"]]) == 0
    assert corpus_bleu([["the", "cat"]], [["the", "cat"]]) == 0, "no four tokens can match"
    corpus = [["the", "cat"], ["the", "black", "dog", "does", "not", "sleep"]]
    assert corpus_bleu(corpus, corpus) == pytest.approx(100), "counts are summed before anything is divided"


test_bad_input_is_named = refusals(
    (lambda: corpus_bleu(["a cat"], [["a"]]), TypeError, r"hypotheses must be lists of tokens, .*: \['a cat'\]"),
    (lambda: corpus_bleu([["a", "cat"]], "a cat"), TypeError, "references must be lists of tokens, .*: 'a cat'"),
    (lambda: corpus_bleu([["a"]], [["a"], ["cat"]]), ValueError, "as many as references, .* got 1 and 2"),
    (lambda: corpus_bleu([["a"]], [["a"]], 0), ValueError, "max_n must be at least 1, got 0"),
    (lambda: corpus_scores(["a"], ["a", "cat"]), ValueError, "hypotheses must be as many as references"),
    (lambda: corpus_scores(["a cat"], "a cat"), TypeError, "references must be a list of sentences"),
)


def test_scores_are_sacrebleus_of_the_whole_corpus():
    references = ["A man is riding a bike .", "Two dogs play in the snow ."]
    assert corpus_scores(references, references)["bleu"]["score"] == 100
    other = ["a man rides a bike .", "Two dogs play in the snow ."]
    scores = corpus_scores(other, references)
    assert scores["bleu_lowercase"]["score"] > scores["bleu"]["score"]
    assert lowercase_bleu(other, references) == pytest.approx(scores["bleu_lowercase"]["score"], abs=0.01)
