"""Checks how much each head looks at what came next, the last time the same token was there."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, output

Pairs = list[tuple[int, int]]  # (query, key): which weights are looked at


def check_induction_scores(fn: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check fn(weights, ids) with causal weights (heads, seq, seq) and ids (seq,) -> (heads,), each from 0 to 1.

    For each head, the mean weight that every token which occurred before puts on the token right after its latest
    previous occurrence (Olsson et al., 2022). Where no token repeats, the scores are 0.
    """
    COMPONENT.check(fn=fn)


def after_occurrences(ids: list[int], of: Callable[[list[int]], list[int]], step: int = 1) -> Pairs:
    """Each place with `step` added to those of its earlier occurrences that `of` takes."""
    earlier = [[s for s in range(t) if ids[s] == token] for t, token in enumerate(ids)]
    return [(t, s + step) for t, places in enumerate(earlier) for s in of(places)]


def induction_scores(
    weights: Tensor,
    ids: Tensor,
    *,
    of: Callable[[list[int]], list[int]] = lambda places: places[-1:],
    step: int = 1,
    average: Callable[[Tensor, int], Tensor] = lambda found, seq: found.sum(-1) / max(found.shape[-1], 1),
) -> Tensor:
    """The mean of the weights from each repeated token to what followed it; a mistake exchanges one step."""
    pairs = torch.tensor(after_occurrences(ids.tolist(), of, step), dtype=torch.long).reshape(-1, 2)
    return average(weights[:, pairs[:, 0], pairs[:, 1]], len(ids))


def _trial(title: str, ids: list[int], weights: list[Any]) -> Trial:
    rows = [[row + [0.0] * (len(ids) - len(row)) for row in head] for head in weights]
    return Trial(title, {"weights": torch.tensor(rows), "ids": torch.tensor(ids)}, output)


ROWS = [[1.0], [0.6, 0.4], [0.2, 0.5, 0.3], [0.1, 0.25, 0.45, 0.2], [0.12, 0.08, 0.22, 0.55, 0.03]]
OTHER = [[1.0], [0.9, 0.1], [0.05, 0.8, 0.15], [0.02, 0.3, 0.07, 0.61]]

COMPONENT = Component(
    "induction scores",
    chapter=18,
    reference=induction_scores,
    trials=[
        _trial("one head, one token that repeats", [1, 5, 9, 5], [ROWS[:4]]),
        _trial("one head, a token that occurs three times", [5, 8, 5, 9, 5], [ROWS]),
        _trial("two heads, two tokens that repeat", [5, 8, 5, 8], [ROWS[:4], OTHER]),
        _trial("two heads, no token that repeats", [5, 8, 6], [ROWS[:3], OTHER[:3]]),
    ],
)
mistake = COMPONENT.mistake


def _where_it_peaks(weights: Tensor, ids: Tensor) -> Tensor:
    return induction_scores((weights == weights.amax(-1, keepdim=True)).float(), ids)


mistake(
    "it is the weight on the previous occurrence itself, not on the token after it",
    symptom="heads that look for the same token score high; those that copy what followed do not",
    why="the key is the place where the token was; an induction head looks one place further, where the answer stands.",
    hint="In A B … A, which token should come next, and where does it stand?",
)(partial(induction_scores, step=0))
mistake(
    "it is the weight on the token before the previous occurrence",
    symptom="low scores for every head, where the drawn maps show a clear stripe",
    why="the step has the wrong sign: −1 leads to what came before.",
    hint="In A B … A, on which side of the first A does B stand?",
)(partial(induction_scores, step=-1))
mistake(
    "the earliest occurrence counts, not the latest",
    symptom="right while tokens occur twice; too low as soon as they occur three times",
    why="list.index and argmax find the first place that fits.",
    hint="Which of two earlier occurrences does your search find?",
)(partial(induction_scores, of=lambda places: places[:1]))
mistake(
    "all earlier occurrences count, not the latest alone",
    symptom="right while tokens occur twice; frequent tokens outweigh the others",
    why="every pair of equal tokens is in the mean; here each repeated token has one answer.",
    hint="How many weights enter the mean for the third occurrence of a token?",
)(partial(induction_scores, of=lambda places: places))
mistake(
    "the mean runs over all tokens, not over the repeated ones",
    symptom="scores that fall with the share of new tokens: a perfect head does not reach 1",
    why="tokens that are new have nowhere to look; they add 0 to the sum and 1 to the number.",
    hint="By what do you divide? How many tokens occurred before?",
)(partial(induction_scores, average=lambda found, seq: found.sum(-1) / seq))
mistake(
    "the weights are added up, not averaged",
    symptom="scores above 1 that grow with the text",
    why="the division by the number of repeated tokens is missing.",
    hint="What should a head score that always puts its whole weight on the right token?",
)(partial(induction_scores, average=lambda found, seq: found.sum(-1)))
mistake(
    "rows and columns have changed places",
    symptom="0 for every head: the causal mask has nothing there",
    why="weights are (heads, query, key): the later token asks, so its place is the row.",
    hint="Which of the two tokens looks at the other? Which index of the weights is the query's?",
)(lambda weights, ids: induction_scores(weights.mT, ids))
mistake(
    "a text without a repeated token gives NaN",
    symptom="NaN for some texts, and then for every mean over texts",
    why="the mean of no numbers is 0 / 0.",
    hint="What should the score be where no token repeats, and by what do you divide then?",
)(partial(induction_scores, average=lambda found, seq: found.mean(-1)))
mistake(
    "the heads are averaged as well",
    symptom="one number for a layer: which head copies cannot be seen",
    why="the mean runs over the repeated tokens; dimension 0 holds the heads, and stays.",
    hint="How many numbers should two heads give?",
)(lambda weights, ids: induction_scores(weights, ids).mean())
mistake(
    "it is counted how often the largest weight stands there, not how large it is",
    symptom="scores of 0 and 1 where the weights say 0.4 and 0.6",
    why="argmax forgets by how much a key wins.",
    hint="What does a head score whose weight on the right token is 0.4, and the largest of its row?",
)(_where_it_peaks)
