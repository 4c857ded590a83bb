"""Checks BLEU on corpora of one or two short sentences."""

from collections.abc import Callable
from typing import Any

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import as_number
from transformer_edu.training.bleu import corpus_bleu

Sentences = list[list[str]]


def check_corpus_bleu(fn: Callable[[Sentences, Sentences], float]) -> None:
    """Check fn(hypotheses, references) -> BLEU, 0 .. 100, both lists of token lists, one reference per sentence.

    n-grams of 1 to 4 tokens; counts are summed over the corpus. Nothing is smoothed: in one trial no four tokens match,
    and the score is 0. In all others each n has a match, though a single sentence may have none.
    """
    need_callable("fn", fn)
    BLEU.check(fn)


def _score(fn: Any, given: dict[str, Any]) -> float:
    return as_number(fn(given["hypotheses"], given["references"]))


def _trial(title: str, *pairs: tuple[str, str]) -> Trial:
    hypotheses, references = ([pair[side].split() for pair in pairs] for side in (0, 1))
    return Trial(title, {"hypotheses": hypotheses, "references": references}, _score, tolerance=5e-4)


BLEU = Component(
    "corpus BLEU",
    reference=corpus_bleu,
    trials=[
        _trial("everything is right", ("the cat does not sleep", "the cat does not sleep")),
        _trial("one word is wrong", ("the cat does not sleep here", "the cat does not sleep now")),
        _trial("one word stands twice", ("the the cat does not sleep", "now the cat does not sleep")),
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
