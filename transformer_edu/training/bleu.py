"""BLEU of a whole corpus, as small as its formula; published scores come from `transformer_edu.training.evaluate`.

    BLEU = 100 · BP · exp( 1/N · Σ log pₙ ),   n = 1 … N
    BP   = 1 if c > r, otherwise exp(1 − r/c)

c and r are the tokens of all hypotheses and of all references. pₙ is the share of the hypotheses' n-grams that stand in
their reference too. All counts are summed over the corpus before anything is divided. Source: Papineni et al. (2002),
"BLEU: a Method for Automatic Evaluation of Machine Translation", section 2.3.
"""

import math
from collections import Counter
from collections.abc import Sequence

from transformer_edu.support.validation import check_positive_integer

Tokens = Sequence[str]


def ngrams(tokens: Tokens, n: int) -> Counter[tuple[str, ...]]:
    """How often each run of n neighbouring tokens occurs."""
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


def corpus_bleu(hypotheses: Sequence[Tokens], references: Sequence[Tokens], max_n: int = 4) -> float:
    """BLEU, 0 .. 100, of tokenized sentences with one reference each; 0 where some n has no match (no smoothing).

    >>> round(corpus_bleu([["the", "black", "cat", "sleeps", "here"]], [["the", "black", "cat", "sleeps"]]), 2)
    66.87
    """
    _check(hypotheses, references)
    check_positive_integer("max_n", max_n)
    log_precisions = []
    for n in range(1, max_n + 1):
        matches = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            said = ngrams(hypothesis, n)
            matches += (said & ngrams(reference, n)).total()  # & keeps the smaller count: clipped
            total += said.total()
        if matches == 0:
            return 0.0
        log_precisions.append(math.log(matches / total))
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    brevity_penalty = min(1.0, math.exp(1 - r / c))
    return 100 * brevity_penalty * math.exp(sum(log_precisions) / max_n)


def _check(hypotheses: Sequence[Tokens], references: Sequence[Tokens]) -> None:
    for name, sentences in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(sentences, str) or any(isinstance(tokens, str) for tokens in sentences):
            raise TypeError(f"{name} must be lists of tokens, got strings: {sentences!r}"[:200])
    if not references or len(hypotheses) != len(references):
        raise ValueError(
            f"hypotheses must be as many as references, and at least one, got {len(hypotheses)} and {len(references)}"
        )
