"""BLEU and chrF by sacrebleu, with the signatures that say exactly how they were counted."""

from collections.abc import Sequence
from typing import Any


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Scores of a whole corpus, 0 .. 100, each with sacrebleu's signature.

    Returns:
        "bleu_lowercase" (tokenized by sacrebleu and lowercased: what tutorials report), "bleu" (standard: as the text
        is) and "chrf" (character n-grams), each {"score", "signature"}.
    """
    from sacrebleu.metrics import BLEU, CHRF

    _check(hypotheses, references)
    scores: dict[str, Any] = {}
    for name, metric in (("bleu_lowercase", BLEU(lowercase=True)), ("bleu", BLEU()), ("chrf", CHRF())):
        score = metric.corpus_score(list(hypotheses), [list(references)]).score
        scores[name] = {"score": round(score, 2), "signature": str(metric.get_signature())}
    return scores


def lowercase_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """BLEU, 0 .. 100, lowercased: what training watches."""
    from sacrebleu.metrics import BLEU

    _check(hypotheses, references)
    return float(BLEU(lowercase=True).corpus_score(list(hypotheses), [list(references)]).score)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):
            raise TypeError(f"{name} must be a list of sentences, got one string: {texts[:80]!r}")
    if not references or len(hypotheses) != len(references):
        raise ValueError(
            f"hypotheses must be as many as references, and at least one, got {len(hypotheses)} and {len(references)}"
        )
