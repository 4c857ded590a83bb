"""Which sentence pairs share a batch: a budget of tokens instead of a number of sentences, and little padding.

A batch is a rectangle, as wide as its longest sentence, so its cost is rows · width, padding included. Sentences of
like length are put together, and the batch is full when another row would make the rectangle larger than the budget.
"""

import random
from collections.abc import Sequence

from transformer_edu.support.validation import check_positive_integer

Lengths = tuple[int, int]
"""Tokens of one pair: of the source, and of the target with its begin or end token."""


def token_budget_batches(
    lengths: Sequence[Lengths], max_tokens: int, order: Sequence[int] | None = None
) -> list[list[int]]:
    """Fill one batch after the other in the given order; each holds at most `max_tokens` per side, padding included.

    Args:
        lengths: of each pair.
        max_tokens: most cells of the source rectangle, and of the target rectangle.
        order: indices into `lengths`; None takes them as they come.

    Returns:
        Batches, as lists of indices.

    >>> token_budget_batches([(2, 2), (2, 2), (5, 5)], max_tokens=8)
    [[0, 1], [2]]
    """
    check_positive_integer("max_tokens", max_tokens)
    batches: list[list[int]] = []
    batch: list[int] = []
    width = 0
    for index in range(len(lengths)) if order is None else order:
        longest = max(lengths[index])
        if longest > max_tokens:
            raise ValueError(
                f"max_tokens must fit the longest sentence, {longest} tokens (pair {index}), got {max_tokens}"
            )
        if batch and max(width, longest) * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, width = [], 0
        batch.append(index)
        width = max(width, longest)
    return [*batches, batch] if batch else batches


def epoch_batches(lengths: Sequence[Lengths], max_tokens: int, *, seed: int, epoch: int = 0) -> list[list[int]]:
    """The batches of one epoch: pairs of like length together, in an order that (seed, epoch) decides alone.

    Shuffled first, so that equals meet other equals in each epoch; then sorted by length and cut into batches; then the
    batches are shuffled, so that training does not go from short sentences to long ones.
    """
    rng = random.Random(f"{seed}, {epoch}")
    order = list(range(len(lengths)))
    rng.shuffle(order)
    order.sort(key=lambda index: (max(lengths[index]), lengths[index]))  # sorting keeps the shuffle among equals
    batches = token_budget_batches(lengths, max_tokens, order)
    rng.shuffle(batches)
    return batches


def padding_waste(lengths: Sequence[Lengths], batches: Sequence[Sequence[int]]) -> float:
    """The share of all cells, 0 .. 1, source and target together, that hold padding."""
    real = cells = 0
    for batch in batches:
        for side in (0, 1):
            sizes = [lengths[index][side] for index in batch]
            real, cells = real + sum(sizes), cells + max(sizes) * len(sizes)
    if not cells:
        raise ValueError("batches must hold at least one pair, got none")
    return 1 - real / cells
