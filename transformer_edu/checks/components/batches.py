"""Checks how sentence pairs are packed into batches by a budget of tokens."""

import operator
from collections.abc import Callable
from typing import Any

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit
from transformer_edu.data.token_budget import Lengths, token_budget_batches

Pack = Callable[[list[Lengths], int], list[list[int]]]


def check_pack(fn: Pack) -> None:
    """Check fn(lengths, max_tokens) -> batches, each a list of indices into `lengths`, in the order they come.

    A length is the pair (source, target), in tokens; none is above the budget. The width of a batch is its longest
    sentence, of both sides. A batch is full when one more row would make rows · width exceed `max_tokens`.
    """
    need_callable("fn", fn)
    PACK.check(fn)


def _pack(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    result = fn(given["lengths"], given["max_tokens"])
    if result is None:
        raise Unfit("returned None, expected a list of batches: is the `return` missing?")
    if not isinstance(result, list | tuple):
        raise Unfit(f"returned a {type(result).__name__}, expected a list of batches")
    return {"batches": [_indices(batch) for batch in result]}


def _indices(batch: Any) -> list[int]:
    """One batch as a list of integers; tuples, and the whole numbers of numpy and torch, are welcome."""
    expected = "expected a list of indices such as [0, 1]"
    if not isinstance(batch, list | tuple):
        raise Unfit(f"returned {str(batch)[:60]} among the batches, {expected}")
    try:
        return [operator.index(index) for index in batch]
    except (TypeError, RuntimeError):
        raise Unfit(f"returned {str(batch)[:60]} among the batches, {expected}") from None


def _trial(title: str, max_tokens: int, *lengths: Lengths) -> Trial:
    return Trial(f"{title} (lengths are source, target)", {"lengths": list(lengths), "max_tokens": max_tokens}, _pack)


PACK = Component(
    "batches by budget",
    reference=lambda lengths, max_tokens: token_budget_batches(lengths, max_tokens),
    trials=[
        _trial("five pairs of one length, four fill the budget exactly", 8, (2, 2), (2, 2), (2, 2), (2, 2), (2, 2)),
        _trial("each pair is longer than the one before", 8, (1, 1), (2, 2), (3, 3), (4, 4)),
        _trial("a long pair, then short ones", 8, (6, 6), (2, 2), (2, 2), (2, 2), (2, 2)),
        _trial("now the target is the longer side, now the source", 8, (1, 4), (1, 4), (1, 4), (4, 1)),
        _trial("no pairs at all", 8),
    ],
)
