"""Known mistakes in packing pairs into batches by a budget of tokens."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate

from transformer_edu.checks.components.batches import PACK
from transformer_edu.data.token_budget import Lengths

mistake = PACK.mistake
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


def _known(name: str, symptom: str, why: str, hint: str, fits: Fits) -> None:
    PACK.mistake(name, symptom=symptom, why=why, hint=hint)(partial(fill, fits=fits))


@mistake(
    "the last batch is lost",
    symptom="some pairs are never trained on, and no error says so",
    why="a batch is handed over only when the next pair does not fit; after the last pair nothing comes.",
    hint="When the loop ends, what does `batch` still hold?",
)
def last_batch_lost(lengths: list[Lengths], max_tokens: int) -> Batches:
    return fill(lengths, max_tokens)[:-1]


@mistake(
    "the last batch is handed over even when it is empty",
    symptom="an empty batch, and later an error: the longest of no sentences is max() of nothing",
    why="the batch is appended after the loop without asking whether it holds anything.",
    hint="With no pairs at all, how many batches should there be?",
)
def empty_batch(lengths: list[Lengths], max_tokens: int) -> Batches:
    return fill(lengths, max_tokens) or [[]]


@mistake(
    "the pair that does not fit is dropped",
    symptom="one pair is missing for each batch that fills up, and no error says so",
    why="the full batch is closed, but the pair that closed it is put nowhere.",
    hint="Which pair should be the first of the new batch?",
)
def dropped(lengths: list[Lengths], max_tokens: int) -> Batches:
    return fill(lengths, max_tokens, drop=True)


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


_known(
    "the budget counts the real tokens, not the padded rectangle",
    "batches of mixed lengths need more memory than the budget allows",
    "the lengths are added up, but the batch is as wide as its longest sentence in every row.",
    "How many cells does a tensor with rows of 1, 2 and 3 tokens have?",
    lambda rows, max_tokens: max(map(sum, zip(*rows, strict=True))) <= max_tokens,
)
_known(
    "the width is the first row's",
    "a long sentence after a short one makes the batch larger than the budget",
    "the width is set when the batch begins, and never again.",
    "A longer sentence joins the batch. How wide do the other rows become?",
    lambda rows, max_tokens: len(rows) * max(rows[0]) <= max_tokens,
)
_known(
    "a batch that meets the budget exactly counts as full: < where <= is needed",
    "batches that are one row smaller than they could be",
    "the budget is the most that is allowed, so a rectangle of exactly max_tokens fits.",
    "Four rows of two tokens, a budget of eight: does that fit?",
    lambda rows, max_tokens: rectangle(rows) < max_tokens,
)
_known(
    "only the source's length counts",
    "out of memory where short sentences have long translations",
    "the target's rectangle is as wide as its own longest sentence.",
    "There are two rectangles, source and target. Which of them must fit?",
    lambda rows, max_tokens: len(rows) * max(source for source, _ in rows) <= max_tokens,
)
_known(
    "source and target lengths are added together",
    "batches of about half the size that the budget allows",
    "the budget holds for each side by itself.",
    "Is the budget one for both sides together, or one per side?",
    lambda rows, max_tokens: len(rows) * max(map(sum, rows)) <= max_tokens,
)
_known(
    "the budget counts sentences, not tokens",
    "batches of long sentences need far more memory than batches of short ones",
    "the number of rows is compared with max_tokens; their width is never looked at.",
    "Which of the two sizes of the rectangle does your condition leave out?",
    lambda rows, max_tokens: len(rows) <= max_tokens,
)
