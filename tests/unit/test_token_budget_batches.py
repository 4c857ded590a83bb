"""The Python side of token-budget batches: its batches, the draws that the page shuffles with, and its alt text."""

import random
from collections.abc import Iterator
from itertools import product

import pytest

from transformer_edu.book.figures import TokenBudgetBatches
from transformer_edu.book.figures.token_budget_batches import (
    EPOCHS,
    LARGEST,
    LIMITS,
    ORDERS,
    cells_of,
    plan,
    shuffle_draws,
    token_counts,
)
from transformer_edu.data import train_pairs
from transformer_edu.data.token_budget import epoch_batches, token_budget_batches

SENTENCES = [english for english, _ in train_pairs(48)]
LENGTHS = token_counts(SENTENCES)
PAIRS = [(length, length) for length in LENGTHS]
SIMILAR = "similar lengths together"
EXAMPLE = {
    "sentences": ["a b c", "d", "e  f"], "order": "sorted by length",
    "limit": "tokens", "size": 6, "seed": 2, "epoch": 3,
}  # fmt: skip
BAD = [
    (TypeError, "sentences must be a list of strings, got ['the cat', 3]", {"sentences": ["the cat", 3]}),
    (ValueError, "sentences must have 1 to 40 tokens each, got 0 in ' '", {"sentences": ["a", " "]}),
    (ValueError, "sentences must have 1 to 40 tokens each, got 41", {"sentences": ["a", "b " * 41]}),
    (ValueError, "size, in sentences (the longest sentence has 11 tokens), must be from 1 to 16, got 17", {"size": 17}),
    (ValueError, "size, in tokens (the longest sentence has 11 tokens), must be from 11 to 88", {"limit": "tokens"}),
]
SAYS = [
    ({}, "48 sentences, as they come, at most 8 sentences a batch: 6 batches", "480 cells, 32 % of them padding;"),
    ({}, "the largest batch has 88, the smallest 72. With similar lengths together: 344 cells, 5 % padding."),
]


def told(index):
    """What is said of a batch of the default state, which takes eight sentences after eight, and its words."""
    rows = range(8 * index, 8 * index + 8)
    width = max(LENGTHS[row] for row in rows)
    padding = 8 * width - sum(LENGTHS[row] for row in rows)
    words = [SENTENCES[row] + " <pad>" * (width - LENGTHS[row]) for row in rows]
    said = f"Batch {index + 1}: 8 rows × {width} tokens = {8 * width} cells, {padding} of them padding"
    return f"{said} … {' '.join(words)}"


SCENES = {
    "sorting loses chance, a budget evens the cost": [
        "32 % of the work is padding, computed and thrown away",
        "A batch of 8 sentences costs 72 to 88 cells: the largest is 1.2 times the smallest.",
        "> radio sorted by length",
        "5 % of the work is padding … Epoch 1 of 4 · 480 → 344 cells",
        "32 to 88 cells: the largest is 2.8 times the smallest. A budget of tokens evens that.",
        "the order of training is no longer random",
        "> radio similar lengths together; radio of tokens",
        "a batch costs 60 to 63 cells, much the same, and holds 6 to 12 sentences.",
        "The batch marked “rest” has what was left: 44 cells.",
        "> radio of sentences; slider sentences a batch = 1",
        "No padding: … 48 batches, 326 cells, none of them padding.",
    ],
    "a batch that is pointed at is told, and one that is clicked stays": [
        told(0),
        "> hover .te-pack-batches button >> nth=3",
        told(3),
        "> hover .te-pack-title",
        told(0),
        "> click .te-pack-batches button >> nth=2",
        "~ Batch 3: 8 rows × 9 tokens = 72 cells",
        "> hover .te-says",
        told(2),
    ],
    "each size is found again, and epochs differ where chance decides": [
        "> slider sentences a batch = 5; radio of tokens",
        "tokens a batch64",
        "> slider tokens a batch = 30; radio of sentences",
        "sentences a batch5",
        "> radio of tokens",
        "tokens a batch30",
        "> hover .te-controls > .te-button[aria-disabled=true]",
        "Epoch 1 of 4 … The order is that of the list, the same in every epoch.",
        "> radio shuffled; button Next epoch",
        "Epoch 2 of 4 … Each epoch has other batches",
    ],
}


def numbers():
    """Every setting of the default sentences, and of 64 others with another seed some budgets."""
    others = [" ".join(["un", "##believ", "##able"] * (1 + number % 9)) for number in range(64)]
    return [
        packed(SENTENCES, 0, {limit: sizes(limit) for limit in LIMITS}),
        packed(others, 11, {"tokens": [27, 90, 216]}),
    ]


def packed(sentences, seed, sizes_of):
    """The batches of some sentences in every order and epoch, with these sizes for each limit."""
    lengths, settings = token_counts(sentences), []
    limits = [(limit, size) for limit, sizes in sizes_of.items() for size in sizes]
    for order, (limit, size), epoch in product(ORDERS, limits, range(EPOCHS)):
        batches, rest = plan(lengths, order, limit, size, seed=seed, epoch=epoch)
        cells = sum(cells_of(batch, lengths) for batch in batches)
        found = {"batches": batches, "rest": rest, "cells": cells, "padding": cells - sum(lengths)}
        settings.append(found | {"order": order, "limit": limit, "size": size, "epoch": epoch})
    return {"sentences": sentences, "draws": shuffle_draws(seed, len(sentences)), "settings": settings}


def sizes(limit):
    longest = max(LENGTHS)
    return range(longest, LARGEST[limit] * longest + 1) if limit == "tokens" else range(1, LARGEST[limit] + 1)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limit", LIMITS)
def test_every_sentence_is_in_one_batch_and_no_batch_is_too_large(order, limit):
    for size in sizes(limit):
        batches, rest = plan(LENGTHS, order, limit, size)
        assert sorted(index for batch in batches for index in batch) == list(range(48))
        assert max(cells_of(batch, LENGTHS) if limit == "tokens" else len(batch) for batch in batches) <= size
        if limit == "sentences":
            assert [at for at, batch in enumerate(batches) if len(batch) < size] == ([] if rest is None else [rest])


@pytest.mark.parametrize("size", sizes("tokens"))
def test_similar_lengths_with_a_budget_are_the_batches_of_an_epoch(size):
    for seed, epoch in ((0, 0), (0, 3), (7, 1)):
        expected = epoch_batches(PAIRS, size, seed=seed, epoch=epoch)
        assert plan(LENGTHS, SIMILAR, "tokens", size, seed=seed, epoch=epoch).batches == expected


def test_as_they_come_is_the_list_and_sorted_goes_from_short_to_long():
    batches = plan(LENGTHS, "as they come", "sentences", 8).batches
    assert batches == [list(range(at, at + 8)) for at in range(0, 48, 8)]
    assert plan(LENGTHS, "as they come", "tokens", 64).batches == token_budget_batches(PAIRS, 64)
    taken = [LENGTHS[index] for batch in plan(LENGTHS, "sorted by length", "sentences", 7).batches for index in batch]
    assert taken == sorted(LENGTHS)


class Drawing(random.Random):
    """A generator that reads the page's bytes, of each the top bits."""

    draws: Iterator[int]

    def getrandbits(self, k, /):
        return next(self.draws) >> (8 - k)


@pytest.mark.parametrize("count", [2, 31, 32, 48, 64])
def test_draws_shuffle_as_python_does(count):
    for epoch, draws in enumerate(shuffle_draws(3, count)):
        for batches in range(1, count + 1):
            python, page = random.Random(f"3, {epoch}"), Drawing()
            page.draws = iter(bytes.fromhex(draws))
            for length in (count, batches):
                one, other = list(range(length)), list(range(length))
                python.shuffle(one)
                page.shuffle(other)
                assert one == other


def test_new_seed_brings_new_draws():
    figure = TokenBudgetBatches()
    figure.seed = 5
    assert figure.draws == shuffle_draws(5, 48) == TokenBudgetBatches(seed=5).draws != TokenBudgetBatches().draws
