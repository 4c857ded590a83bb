"""Checks a softmax over the last dimension."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor, gradient_of

INF = float("inf")


def _apply(fn: Any, given: dict[str, Any]) -> Tensor:
    return as_tensor(fn(*given.values()), "a tensor of probabilities")


def _trial(title: str, scores: list[Any]) -> Trial:
    return Trial(title, {"scores": torch.tensor(scores)}, _apply)


COMPONENT = Component(
    "softmax",
    chapter=6,
    reference=lambda scores: torch.softmax(scores, dim=-1),
    trials=[
        _trial("one row of two scores", [[0.0, 1.0]]),
        _trial("two rows of three scores", [[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]]),
        _trial("two heads", [[[0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [0.0, 3.0]]]),
        _trial("a blocked score, -inf", [[0.0, -INF, 1.0]]),
        _trial("large scores", [[1000.0, 1001.0]]),
        _trial("two rows of very different size", [[0.0, 1.0], [1000.0, 1001.0]]),
    ],
    gradient=gradient_of("scores"),
)
mistake = COMPONENT.mistake


def check_softmax(fn: Callable[[Tensor], Tensor]) -> None:
    """Check fn(scores) -> probabilities of the same shape, each row of the last dimension summing to one."""
    COMPONENT.check(fn=fn)


mistake(
    "the exponentials are not divided by their sum",
    symptom="rows that do not sum to one, so outputs grow with the number of keys",
    why="softmax is exp(x) over the sum of all exp(x) in the row; the division is missing.",
    hint="What must the entries of one row add up to? Which dimension do you sum over, and do you keep it?",
)(lambda scores: torch.exp(scores))
mistake(
    "the row's maximum is subtracted, but the division by the sum is missing",
    symptom="the largest entry of every row is exactly 1, and rows do not sum to one",
    why="subtracting the maximum keeps exp from overflowing; it does not normalize.",
    hint="The subtraction cancels in a quotient. Where is the quotient?",
)(lambda scores: torch.exp(scores - scores.amax(-1, keepdim=True)))
mistake(
    "large scores overflow",
    symptom="NaN in the middle of a training that went well, as soon as a score passes about 88",
    why="exp(1000) is infinite in floating point, and infinity over infinity is NaN.",
    hint="Softmax does not change when the same number is subtracted from the whole row. Which number makes exp safe?",
)(lambda scores: torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True))
mistake(
    "the maximum of the whole tensor is subtracted, not each row's own",
    symptom="NaN in rows whose scores are much smaller than those of another row",
    why="after the subtraction every exp in such a row is 0, and 0 / 0 is NaN.",
    hint="Each row is a distribution of its own. Over which dimension does the maximum have to go?",
)(lambda scores: torch.exp(scores - scores.max()) / torch.exp(scores - scores.max()).sum(-1, keepdim=True))
mistake(
    "the maximum of the whole tensor is subtracted, and the sums are kept from being 0",
    symptom="rows of zeros where scores are much smaller than those of another row",
    why="after the subtraction every exp in such a row is 0; a clamp, or a small number beside the sum, hides 0 / 0.",
    hint="Each row is a distribution of its own. Over which dimension does the maximum have to go?",
)(
    lambda scores: (
        torch.exp(scores - scores.max()) / torch.exp(scores - scores.max()).sum(-1, keepdim=True).clamp(min=1e-30)
    )
)
mistake(
    "softmax runs down the columns (dimension -2), not along the rows (dimension -1)",
    symptom="columns sum to one instead of rows: the tokens compete for each key",
    why="the dimension that sums to one is the one named in `dim`.",
    hint="Print the sums over dim=-1 and over dim=-2. Which of them should be 1?",
)(lambda scores: torch.softmax(scores, dim=-2))
mistake(
    "softmax runs over the first dimension",
    symptom="a token's weights change with the other sentences of the batch",
    why="the dimension that sums to one is the one named in `dim`; dimension 0 is the batch.",
    hint="Count from the end: which dimension holds the scores of one query?",
)(lambda scores: torch.softmax(scores, dim=0))
mistake(
    "the sum runs over the whole tensor, not over each row",
    symptom="all entries together sum to one, so that each row's weights shrink as rows are added",
    why="sum() without a dimension adds everything up.",
    hint="Each row is a distribution of its own. Tell `sum` which dimension to add, and keep it for the division.",
)(lambda scores: torch.softmax(scores.flatten(), dim=0).view_as(scores))
mistake(
    "the sums of the rows have lost their dimension",
    symptom="an error about sizes; with as many rows as columns no error, and each row is divided by the sums of all",
    why="a sum over the last dimension drops it, and what is left stands beside the columns, not beside the rows.",
    hint="The scores are (..., rows, columns). Which shape must the sums have, one for each row? See `keepdim`.",
)(lambda scores: torch.exp(scores) / torch.exp(scores).sum(-1))
mistake(
    "the scores are divided by their sum without exp",
    symptom="negative weights, and a division by zero when the scores cancel",
    why="dividing by the sum normalizes, but only positive numbers make a distribution.",
    hint="What turns any score, negative ones too, into a positive number and keeps their order?",
)(lambda scores: scores / scores.sum(-1, keepdim=True))
mistake(
    "log-softmax is returned in place of softmax",
    symptom="negative 'weights'; the loss may still look right, attention does not",
    why="log_softmax returns the logarithm of the probabilities.",
    hint="Can a probability be negative?",
)(lambda scores: torch.log_softmax(scores, dim=-1))
