"""Checks how sentence pairs are packed into batches by a budget of tokens."""

import operator
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit
from transformer_edu.data.token_budget import Lengths, token_budget_batches

Pack = Callable[[list[Lengths], int], list[list[int]]]


def check_token_budget_batches(fn: Pack) -> None:
    """Check fn(lengths, max_tokens) -> batches, each a list of indices into `lengths`, in the order they come.

    A length is the pair (source, target), in tokens; none is above the budget. The width of a batch is its longest
    sentence, of both sides. A batch is full when one more row would make rows · width exceed `max_tokens`.
    """
    COMPONENT.check(fn=fn)


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


COMPONENT = Component(
    "batches by budget",
    chapter=12,
    reference=lambda lengths, max_tokens: token_budget_batches(lengths, max_tokens),
    trials=[
        _trial("five pairs of one length, four fill the budget exactly", 8, (2, 2), (2, 2), (2, 2), (2, 2), (2, 2)),
        _trial("each pair is longer than the one before", 8, (1, 1), (2, 2), (3, 3), (4, 4)),
        _trial("a long pair, then short ones", 8, (6, 6), (2, 2), (2, 2), (2, 2), (2, 2)),
        _trial("now the target is the longer side, now the source", 8, (1, 4), (1, 4), (1, 4), (4, 1)),
        _trial("no pairs at all", 8),
    ],
)
mistake = COMPONENT.mistake
Batches = list[list[int]]
Fits = Callable[[list[Lengths], int], bool]


def rectangle(rows: list[Lengths]) -> int:
    """The cells of a batch: rows · width."""
    return len(rows) * max(max(row) for row in rows)


def rectangle_fits(rows: list[Lengths], max_tokens: int) -> bool:
    """The right question."""
    return rectangle(rows) <= max_tokens


def fill(lengths: list[Lengths], max_tokens: int, fits: Fits = rectangle_fits, *, drop: bool = False) -> Batches:
    """The right loop, with its question to be exchanged; `drop` loses the pair that did not fit."""
    batches: Batches = []
    batch: list[int] = []
    for index in range(len(lengths)):
        if batch and not fits([lengths[i] for i in [*batch, index]], max_tokens):
            batches.append(batch)
            batch = []
            if drop:
                continue
        batch.append(index)
    return [*batches, batch] if batch else batches


mistake(
    "the last batch is lost",
    symptom="some pairs are never trained on, and no error says so",
    why="a batch is handed over only when the next pair does not fit; after the last pair nothing comes.",
    hint="When the loop ends, what does `batch` still hold?",
)(lambda lengths, max_tokens: fill(lengths, max_tokens)[:-1])
mistake(
    "the last batch is handed over even when it is empty",
    symptom="an empty batch, and later an error: the longest of no sentences is max() of nothing",
    why="the batch is appended after the loop without asking whether it holds anything.",
    hint="With no pairs at all, how many batches should there be?",
)(lambda lengths, max_tokens: fill(lengths, max_tokens) or [[]])
mistake(
    "the pair that does not fit is dropped",
    symptom="one pair is missing for each batch that fills up, and no error says so",
    why="the full batch is closed, but the pair that closed it is put nowhere.",
    hint="Which pair should be the first of the new batch?",
)(lambda lengths, max_tokens: fill(lengths, max_tokens, drop=True))


@mistake(
    "the batch is closed one pair too late",
    symptom="batches above the budget: out of memory, once in a while",
    why="the pair is added first, and the size is looked at afterwards.",
    hint="Before you add a pair: how large would the rectangle become?",
)
def too_late(lengths: list[Lengths], max_tokens: int) -> Batches:
    batches: Batches = []
    batch: list[int] = []
    for index in range(len(lengths)):
        batch.append(index)
        if not rectangle_fits([lengths[i] for i in batch], max_tokens):
            batches.append(batch)
            batch = []
    return [*batches, batch] if batch else batches


@mistake(
    "all batches are one and the same list",
    symptom="only the last pairs are trained on, again and again",
    why="batch.clear() empties the list that was just appended; `batches` holds that list, not a copy.",
    hint="Is `batches[0] is batches[1]` true? How do you begin a new list?",
)
def same_list(lengths: list[Lengths], max_tokens: int) -> Batches:
    batches = fill(lengths, max_tokens)
    return [batches[-1] for _ in batches]


@mistake(
    "the width is not set back for the new batch",
    symptom="after one long sentence all batches are small, and training is slow",
    why="the width of the batch before still counts: it can only grow.",
    hint="A new batch begins. How wide is it before its first row?",
)
def width_kept(lengths: list[Lengths], max_tokens: int) -> Batches:
    widths = list(accumulate((max(pair) for pair in lengths), max))
    return fill([(width, width) for width in widths], max_tokens)


mistake(
    "the budget counts the real tokens, not the padded rectangle",
    symptom="batches of mixed lengths need more memory than the budget allows",
    why="the lengths are added up, but the batch is as wide as its longest sentence in every row.",
    hint="How many cells does a tensor with rows of 1, 2 and 3 tokens have?",
)(partial(fill, fits=lambda rows, max_tokens: max(map(sum, zip(*rows, strict=True))) <= max_tokens))
mistake(
    "the width is the first row's",
    symptom="a long sentence after a short one makes the batch larger than the budget",
    why="the width is set when the batch begins, and never again.",
    hint="A longer sentence joins the batch. How wide do the other rows become?",
)(partial(fill, fits=lambda rows, max_tokens: len(rows) * max(rows[0]) <= max_tokens))
mistake(
    "a batch that meets the budget exactly counts as full: < where <= is needed",
    symptom="batches that are one row smaller than they could be",
    why="the budget is the most that is allowed, so a rectangle of exactly max_tokens fits.",
    hint="Four rows of two tokens, a budget of eight: does that fit?",
)(partial(fill, fits=lambda rows, max_tokens: rectangle(rows) < max_tokens))
mistake(
    "only the source's length counts",
    symptom="out of memory where short sentences have long translations",
    why="the target's rectangle is as wide as its own longest sentence.",
    hint="There are two rectangles, source and target. Which of them must fit?",
)(partial(fill, fits=lambda rows, max_tokens: len(rows) * max(source for source, _ in rows) <= max_tokens))
mistake(
    "source and target lengths are added together",
    symptom="batches of about half the size that the budget allows",
    why="the budget holds for each side by itself.",
    hint="Is the budget one for both sides together, or one per side?",
)(partial(fill, fits=lambda rows, max_tokens: len(rows) * max(map(sum, rows)) <= max_tokens))
mistake(
    "the budget counts sentences, not tokens",
    symptom="batches of long sentences need far more memory than batches of short ones",
    why="the number of rows is compared with max_tokens; their width is never looked at.",
    hint="Which of the two sizes of the rectangle does your condition leave out?",
)(partial(fill, fits=lambda rows, max_tokens: len(rows) <= max_tokens))
