"""Known mistakes in corpus BLEU."""

import math
from collections import Counter
from collections.abc import Callable
from statistics import mean

from transformer_edu.checks.components.corpus_bleu import BLEU, Sentences
from transformer_edu.training.bleu import corpus_bleu, ngrams

mistake = BLEU.mistake
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


@mistake(
    "BLEU is averaged over the sentences",
    symptom="scores far below everyone else's: each sentence without a match of four tokens counts 0",
    why="counts are divided in each sentence; BLEU sums them over the corpus first and divides once.",
    hint="When are matches divided by totals: once per sentence, or once for the corpus?",
)
def averaged(hypotheses: Sentences, references: Sentences) -> float:
    return mean(corpus_bleu([h], [r]) for h, r in zip(hypotheses, references, strict=True))


@mistake(
    "BLEU is averaged over the sentences, with shorter n-grams where a sentence is short",
    symptom="scores that no other program gives; short sentences count as much as long ones",
    why="n goes up to the length of the sentence, so that no total is 0, and the mean is taken of the scores.",
    hint="Sum the counts over the corpus first. Does any total have to be 0 then?",
)
def averaged_with_short_ngrams(hypotheses: Sentences, references: Sentences) -> float:
    return mean(corpus_bleu([h], [r], max_n=min(4, len(h))) for h, r in zip(hypotheses, references, strict=True))


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
    "there is no brevity penalty",
    symptom="answers that break off early score high",
    why="precisions ask only whether what was said is right, not whether everything was said.",
    hint="Which part of your formula notices that words are missing?",
)
def no_penalty(hypotheses: Sentences, references: Sentences) -> float:
    return 100 * geometric_mean(precisions(hypotheses, references))


@mistake(
    "the brevity penalty is taken per sentence and averaged",
    symptom="scores that no other program gives: a long answer no longer makes up for a short one",
    why="c and r are the lengths of the whole corpus.",
    hint="Over what do you add up c and r?",
)
def penalty_per_sentence(hypotheses: Sentences, references: Sentences) -> float:
    penalties = [brevity(len(h), len(r)) for h, r in zip(hypotheses, references, strict=True)]
    return 100 * mean(penalties) * geometric_mean(precisions(hypotheses, references))


@mistake(
    "the brevity penalty is the wrong way round: it punishes long answers",
    symptom="answers that break off early are not punished; long ones are, twice",
    why="c and r have changed places; too many words already cost precision.",
    hint="c tokens were said, r are wanted. When is 1 − r/c below 0?",
)
def penalty_reversed(hypotheses: Sentences, references: Sentences) -> float:
    return 100 * penalty(references, hypotheses) * geometric_mean(precisions(hypotheses, references))


@mistake(
    "the precisions are averaged with the arithmetic mean",
    symptom="scores that are too high, and above 0 though no four tokens match",
    why="exp of the mean of the logarithms is the geometric mean: one precision of 0 makes the score 0.",
    hint="The mean of what do you take: of the precisions, or of their logarithms?",
)
def arithmetic(hypotheses: Sentences, references: Sentences) -> float:
    return 100 * penalty(hypotheses, references) * mean(precisions(hypotheses, references))


@mistake(
    "matches are divided by the reference's n-grams: that is recall",
    symptom="long answers score too high, and short ones are punished twice",
    why="pₙ is a precision: the share of what was *said* that is right.",
    hint="Of which n-grams is pₙ a share: of those that were said, or of those that are wanted?",
)
def recall(hypotheses: Sentences, references: Sentences) -> float:
    found = precisions(hypotheses, references, total=lambda said, wanted: wanted.total())
    return 100 * penalty(hypotheses, references) * geometric_mean(found)


@mistake(
    "the sentences are strings, so the n-grams are made of characters",
    symptom="scores that are much too high, as four letters match far more easily than four words",
    why="a string is joined or handed over; a loop over it gives its characters.",
    hint="Print one of your n-grams. Does it hold words?",
)
def characters(hypotheses: Sentences, references: Sentences) -> float:
    return corpus_bleu([list(" ".join(h)) for h in hypotheses], [list(" ".join(r)) for r in references])


@mistake(
    "hypotheses and references have changed places",
    symptom="short answers score as long ones should, and long ones as short ones",
    why="the arguments are swapped, here or in the call: metrics do not agree on their order.",
    hint="Which of the two arguments did the model write?",
)
def swapped(hypotheses: Sentences, references: Sentences) -> float:
    return corpus_bleu(references, hypotheses)


@mistake(
    "n goes only up to 2",
    symptom="scores that are too high; the order of words matters little",
    why="BLEU takes n from 1 to 4.",
    hint="Which values does your n take? Print them.",
)
def bigrams_only(hypotheses: Sentences, references: Sentences) -> float:
    return corpus_bleu(hypotheses, references, max_n=2)


@mistake(
    "n goes only up to 3",
    symptom="scores that are too high by a few points",
    why="BLEU takes n from 1 to 4, and range(1, 4) ends at 3.",
    hint="Which values does your n take? Print them.",
)
def trigrams_only(hypotheses: Sentences, references: Sentences) -> float:
    return corpus_bleu(hypotheses, references, max_n=3)


@mistake(
    "the score is 0 .. 1, not 0 .. 100",
    symptom="scores a hundred times smaller than those in papers",
    why="the formula gives a share; BLEU is reported times 100.",
    hint="What should an answer without any mistake score?",
)
def share(hypotheses: Sentences, references: Sentences) -> float:
    return corpus_bleu(hypotheses, references) / 100


@mistake(
    "the logarithm of 0 is taken where nothing matches",
    symptom="ValueError: math domain error, as soon as a small corpus has no match of four tokens",
    why="math.log(0) is an error; the logarithm goes to −∞, and exp(−∞) is 0.",
    hint="One precision is 0. What is the product of all of them, and so the score?",
)
def logarithm_of_zero(hypotheses: Sentences, references: Sentences) -> float:
    found = precisions(hypotheses, references)
    return 100 * penalty(hypotheses, references) * math.exp(sum(map(math.log, found)) / 4)
