"""Checks BLEU on corpora of one or two short sentences."""

import math
from collections import Counter
from collections.abc import Callable
from statistics import mean
from typing import Any

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_number
from transformer_edu.training.bleu import corpus_bleu, ngrams

Sentences = list[list[str]]


def check_corpus_bleu(fn: Callable[[Sentences, Sentences], float]) -> None:
    """Check fn(hypotheses, references) -> BLEU, 0 .. 100, both lists of token lists, one reference per sentence.

    n-grams of 1 to 4 tokens; counts are summed over the corpus. Nothing is smoothed: in one trial no four tokens match,
    and the score is 0. In all others each n has a match, though a single sentence may have none.
    """
    COMPONENT.check(fn=fn)


def _score(fn: Any, given: dict[str, Any]) -> float:
    return as_number(fn(given["hypotheses"], given["references"]))


def _trial(title: str, *pairs: tuple[str, str]) -> Trial:
    hypotheses, references = ([pair[side].split() for pair in pairs] for side in (0, 1))
    return Trial(title, {"hypotheses": hypotheses, "references": references}, _score, tolerance=5e-4)


COMPONENT = Component(
    "corpus BLEU",
    chapter=15,
    reference=corpus_bleu,
    trials=[
        _trial("everything is right", ("the cat does not sleep", "the cat does not sleep")),
        _trial("one word is wrong", ("the cat does not sleep here", "the cat does not sleep now")),
        _trial("one word stands twice", ("the the cat does not sleep here", "now the cat does not sleep today")),
        _trial("an answer that is too long", ("the black cat sleeps here today", "the black cat sleeps")),
        _trial("an answer that is too short", ("the black cat sleeps", "the black cat sleeps here today")),
        _trial(
            "two sentences, one too short and one too long",
            ("the cat sleeps", "the cat sleeps here"),
            ("the dog does not sleep here today", "the dog does not sleep here"),
        ),
        _trial("no four tokens match: the score is 0", ("the cat does sleep here", "the cat does not sleep")),
    ],
)
mistake = COMPONENT.mistake
Grams = Counter[tuple[str, ...]]


def clipped(said: Grams, wanted: Grams) -> int:
    """The right count of matches."""
    return (said & wanted).total()


def of_said(said: Grams, wanted: Grams) -> int:
    """The right divisor of a precision."""
    return said.total()


def precisions(
    hypotheses: Sentences,
    references: Sentences,
    matches: Callable[[Grams, Grams], int] = clipped,
    total: Callable[[Grams, Grams], int] = of_said,
) -> list[float]:
    """p₁ … p₄ of the corpus, with the two counts to be exchanged."""
    found = []
    for n in range(1, 5):
        counts = [(ngrams(h, n), ngrams(r, n)) for h, r in zip(hypotheses, references, strict=True)]
        found.append(sum(matches(*both) for both in counts) / sum(total(*both) for both in counts))
    return found


def geometric_mean(found: list[float]) -> float:
    """The right mean; 0 where one of them is 0."""
    return math.prod(found) ** (1 / len(found))


def brevity(c: int, r: int) -> float:
    """The right penalty, for c tokens where r are wanted."""
    return min(1.0, math.exp(1 - r / c))


def penalty(hypotheses: Sentences, references: Sentences) -> float:
    """The right penalty of a corpus."""
    return brevity(sum(map(len, hypotheses)), sum(map(len, references)))


mistake(
    "BLEU is averaged over the sentences",
    symptom="scores far below everyone else's: each sentence without a match of four tokens counts 0",
    why="counts are divided in each sentence; BLEU sums them over the corpus first and divides once.",
    hint="When are matches divided by totals: once per sentence, or once for the corpus?",
)(lambda hypotheses, references: mean(corpus_bleu([h], [r]) for h, r in zip(hypotheses, references, strict=True)))
mistake(
    "BLEU is averaged over the sentences, with shorter n-grams where a sentence is short",
    symptom="scores that no other program gives; short sentences count as much as long ones",
    why="n goes up to the length of the sentence, so that no total is 0, and the mean is taken of the scores.",
    hint="Sum the counts over the corpus first. Does any total have to be 0 then?",
)(
    lambda hypotheses, references: mean(
        corpus_bleu([h], [r], max_n=min(4, len(h))) for h, r in zip(hypotheses, references, strict=True)
    )
)


@mistake(
    "the counts are not clipped",
    symptom="an answer that repeats one frequent word has a unigram precision of 1",
    why="each n-gram of the answer counts if the reference holds it at all, as often as the answer says it.",
    hint="The answer says a word twice, the reference once. How many matches is that?",
)
def not_clipped(hypotheses: Sentences, references: Sentences) -> float:
    def matches(said: Grams, wanted: Grams) -> int:
        return sum(count for gram, count in said.items() if gram in wanted)

    found = precisions(hypotheses, references, matches=matches)
    return 100 * penalty(hypotheses, references) * geometric_mean(found)


@mistake(
    "each n-gram counts once, however often it is said",
    symptom="a word that is wanted twice and said twice is one match, and one that is repeated costs nothing",
    why="sets hold each n-gram once; BLEU counts every one that is said, and clips the count of matches only.",
    hint="The answer says a word twice. How many unigrams has it said?",
)
def distinct(hypotheses: Sentences, references: Sentences) -> float:
    found = precisions(hypotheses, references, lambda said, wanted: len(said & wanted), lambda said, _: len(said))
    return 100 * penalty(hypotheses, references) * geometric_mean(found)


mistake(
    "there is no brevity penalty",
    symptom="answers that break off early score high",
    why="precisions ask only whether what was said is right, not whether everything was said.",
    hint="Which part of your formula notices that words are missing?",
)(lambda hypotheses, references: 100 * geometric_mean(precisions(hypotheses, references)))


@mistake(
    "the brevity penalty is taken per sentence and averaged",
    symptom="scores that no other program gives: a long answer no longer makes up for a short one",
    why="c and r are the lengths of the whole corpus.",
    hint="Over what do you add up c and r?",
)
def penalty_per_sentence(hypotheses: Sentences, references: Sentences) -> float:
    penalties = [brevity(len(h), len(r)) for h, r in zip(hypotheses, references, strict=True)]
    return 100 * mean(penalties) * geometric_mean(precisions(hypotheses, references))


mistake(
    "the brevity penalty is the wrong way round: it punishes long answers",
    symptom="answers that break off early are not punished; long ones are, twice",
    why="c and r have changed places; too many words already cost precision.",
    hint="c tokens were said, r are wanted. When is 1 − r/c below 0?",
)(
    lambda hypotheses, references: (
        100 * penalty(references, hypotheses) * geometric_mean(precisions(hypotheses, references))
    )
)
mistake(
    "the precisions are averaged with the arithmetic mean",
    symptom="scores that are too high, and above 0 though no four tokens match",
    why="exp of the mean of the logarithms is the geometric mean: one precision of 0 makes the score 0.",
    hint="The mean of what do you take: of the precisions, or of their logarithms?",
)(lambda hypotheses, references: 100 * penalty(hypotheses, references) * mean(precisions(hypotheses, references)))


@mistake(
    "matches are divided by the reference's n-grams: that is recall",
    symptom="long answers score too high, and short ones are punished twice",
    why="pₙ is a precision: the share of what was *said* that is right.",
    hint="Of which n-grams is pₙ a share: of those that were said, or of those that are wanted?",
)
def recall(hypotheses: Sentences, references: Sentences) -> float:
    found = precisions(hypotheses, references, total=lambda said, wanted: wanted.total())
    return 100 * penalty(hypotheses, references) * geometric_mean(found)


mistake(
    "the sentences are strings, so the n-grams are made of characters",
    symptom="scores that are much too high, as four letters match far more easily than four words",
    why="a string is joined or handed over; a loop over it gives its characters.",
    hint="Print one of your n-grams. Does it hold words?",
)(
    lambda hypotheses, references: corpus_bleu(
        [list(" ".join(h)) for h in hypotheses], [list(" ".join(r)) for r in references]
    )
)
mistake(
    "hypotheses and references have changed places",
    symptom="short answers score as long ones should, and long ones as short ones",
    why="the arguments are swapped, here or in the call: metrics do not agree on their order.",
    hint="Which of the two arguments did the model write?",
)(lambda hypotheses, references: corpus_bleu(references, hypotheses))
mistake(
    "n goes only up to 2",
    symptom="scores that are too high; the order of words matters little",
    why="BLEU takes n from 1 to 4.",
    hint="Which values does your n take? Print them.",
)(lambda hypotheses, references: corpus_bleu(hypotheses, references, max_n=2))
mistake(
    "n goes only up to 3",
    symptom="scores that are too high by a few points",
    why="BLEU takes n from 1 to 4, and range(1, 4) ends at 3.",
    hint="Which values does your n take? Print them.",
)(lambda hypotheses, references: corpus_bleu(hypotheses, references, max_n=3))
mistake(
    "the score is 0 .. 1, not 0 .. 100",
    symptom="scores a hundred times smaller than those in papers",
    why="the formula gives a share; BLEU is reported times 100.",
    hint="What should an answer without any mistake score?",
)(lambda hypotheses, references: corpus_bleu(hypotheses, references) / 100)


@mistake(
    "the logarithm of 0 is taken where nothing matches",
    symptom="ValueError: math domain error, as soon as a small corpus has no match of four tokens",
    why="math.log(0) is an error; the logarithm goes to −∞, and exp(−∞) is 0.",
    hint="One precision is 0. What is the product of all of them, and so the score?",
)
def logarithm_of_zero(hypotheses: Sentences, references: Sentences) -> float:
    found = precisions(hypotheses, references)
    return 100 * penalty(hypotheses, references) * math.exp(sum(map(math.log, found)) / 4)
