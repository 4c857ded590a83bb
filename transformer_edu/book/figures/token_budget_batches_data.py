"""What the figure of token-budget batches shows: sentences, their batches, and the draws that shuffle them."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from transformer_edu.book.figures.inputs import check_words
from transformer_edu.data.token_budget import token_budget_batches

ORDERS = ("as they come", "shuffled", "sorted by length", "similar lengths together")
EPOCHS = 4
ENOUGH = 2000  # bytes: two shuffles of 64 use about 170
MOST_SENTENCES, MOST_TOKENS = 64, 40  # in the figure; in one sentence


def check_sentences(sentences: Any) -> list[str]:
    """So many strings of so many words each, with single spaces between."""
    for sentence in (texts := check_words("sentences", sentences, 2, MOST_SENTENCES)):
        if not 1 <= len(sentence.split()) <= MOST_TOKENS:
            raise ValueError(
                f"sentences must have 1 to {MOST_TOKENS} tokens each, got {len(sentence.split())} in {sentence!r}"
            )
    return [" ".join(text.split()) for text in texts]


class Plan(NamedTuple):
    """Batches of indices in the order of training, and the place of the one that got what was left over, if any."""

    batches: list[list[int]]
    rest: int | None


def plan(lengths: Sequence[int], order: str, limit: str, size: int, *, seed: int = 0, epoch: int = 0) -> Plan:
    """Pack sentences of so many tokens. Similar lengths with a budget of tokens are what `epoch_batches` gives."""
    rng = random.Random(f"{seed}, {epoch}")
    indices = list(range(len(lengths)))
    if order in ("shuffled", "similar lengths together"):
        rng.shuffle(indices)
    if order in ("sorted by length", "similar lengths together"):
        indices.sort(key=lambda index: lengths[index])
    costs = [(length, length) if limit == "tokens" else (1, 1) for length in lengths]
    batches = token_budget_batches(costs, size, indices)
    last = batches[-1]
    if order == "similar lengths together":
        rng.shuffle(batches)
    full = limit == "sentences" and len(last) == size
    return Plan(batches, None if full else next(at for at, batch in enumerate(batches) if batch is last))


def token_counts(sentences: Sequence[str]) -> list[int]:
    """How many tokens each sentence has."""
    return [len(sentence.split()) for sentence in sentences]


def cells_of(batch: Sequence[int], lengths: Sequence[int]) -> int:
    """Rows times width of a batch."""
    return len(batch) * max(lengths[index] for index in batch)


def shuffle_draws(seed: int, count: int) -> list[str]:
    """For each epoch what `random.shuffle` draws, so that the page shuffles alike: a byte for each draw, in hex.

    A draw of k bits is the top k bits of its byte, k <= 7 for up to 64 sentences. There are as many bytes as the
    sentences and then any number of batches can need.
    """
    draws = []
    for epoch in range(EPOCHS):
        rng = random.Random(f"{seed}, {epoch}")
        stream = bytes(rng.getrandbits(8) for _ in range(ENOUGH))
        after = _end_of_shuffle(stream, 0, count)
        most = max(_end_of_shuffle(stream, after, batches) for batches in range(1, count + 1))
        draws.append(stream[:most].hex())
    return draws


def _end_of_shuffle(stream: bytes, at: int, count: int) -> int:
    """How far `random.shuffle` of `count` items reads from place `at` on: it draws again when a draw is too large."""
    for last in range(count - 1, 0, -1):
        unused = 8 - (last + 1).bit_length()
        while stream[at] >> unused > last:
            at += 1
        at += 1
    return at
