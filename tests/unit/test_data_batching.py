"""Toy tasks, shuffling, batches by a budget of tokens. What padding and shifting do is in tests/properties."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.conftest import refusals
from transformer_edu.data import (
    SPECIALS,
    copy_pairs,
    iterate_batches,
    make_batch,
    pad_sequences,
    random_sequences,
    reverse_pairs,
)
from transformer_edu.data.token_budget import epoch_batches, padding_waste, token_budget_batches


def test_copy_and_reverse_mean_what_they_say():
    assert all(source == target for source, target in copy_pairs(20))
    assert all(source == target[::-1] for source, target in reverse_pairs(20))
    assert [source for source, _ in copy_pairs(20)] == [source for source, _ in reverse_pairs(20)]


def test_toy_sequences_use_the_whole_range_and_no_special_id():
    sequences = random_sequences(500, vocab_size=9, min_len=2, max_len=5, seed=1)
    assert {len(ids) for ids in sequences} == {2, 3, 4, 5}
    assert {i for ids in sequences for i in ids} == set(range(len(SPECIALS), 9))
    assert sequences == random_sequences(500, vocab_size=9, min_len=2, max_len=5, seed=1)
    assert sequences != random_sequences(500, vocab_size=9, min_len=2, max_len=5, seed=2)


def test_all_of_a_batch_moves_to_the_device():
    batch = make_batch([([5, 6, 7], [8, 9]), ([5], [8])])
    assert (len(batch), batch.source.dtype) == (2, torch.int64)
    moved = batch.to("meta")
    assert {t.device.type for t in (moved.source, moved.target_in, moved.target_out)} == {"meta"}


def batch(*pairs):
    return make_batch(pairs, source_vocab_size=10, target_vocab_size=12)


test_bad_input_is_named_where_it_enters = refusals(
    (batch, ValueError, "pairs must hold at least one pair, got an empty batch"),
    (lambda: batch(([5], [6]), ([], [6])), ValueError, "source of pair 1 must hold at least one id"),
    (lambda: batch(([10], [6])), ValueError, r"source of pair 0 must hold ids in 0 \.\. 9, got 10"),
    (lambda: batch(([5], [12])), ValueError, r"target of pair 0 must hold ids in 0 \.\. 11, got 12"),
    (lambda: batch(([-1], [6])), ValueError, "got -1"),
    (lambda: batch(([5.0], [6])), TypeError, "ids of type int, got 5.0"),
    (lambda: batch(([True], [6])), TypeError, "ids of type int, got True"),
    (lambda: batch(([0], [6])), ValueError, "must not hold pad_id = 0"),
    (lambda: pad_sequences([]), ValueError, "sequences must hold at least one sequence"),
    (lambda: next(iterate_batches([], 4)), ValueError, "pairs must hold at least one pair"),
    (lambda: next(iterate_batches([([5], [6])], 0)), ValueError, "batch_size must be at least 1, got 0"),
    (lambda: token_budget_batches([(2, 2), (9, 1)], 8), ValueError, r"longest sentence, 9 tokens \(pair 1\), got 8"),
    (lambda: padding_waste([(2, 2)], []), ValueError, "batches must hold at least one pair"),
    (lambda: copy_pairs(0), ValueError, "count must be at least 1, got 0"),
    (lambda: copy_pairs(3, vocab_size=4), ValueError, "vocab_size must be above 4"),
    (lambda: copy_pairs(3, min_len=0), ValueError, "min_len must be in 1 .. max_len"),
    (lambda: copy_pairs(3, min_len=9, max_len=8), ValueError, "min_len must be in 1 .. max_len = 8, got 9"),
)


def test_an_epoch_uses_every_pair_once_and_the_seed_alone_decides_the_order():
    pairs = [([index], [index]) for index in range(4, 30)]

    def order(seed):
        batches = list(iterate_batches(pairs, 8, seed=seed, epochs=2))
        assert [len(batch) for batch in batches] == [8, 8, 8, 2] * 2
        rows = [row for batch in batches for row in batch.source[:, 0].tolist()]
        assert sorted(rows[:26]) == sorted(rows[26:]) == list(range(4, 30))
        return rows[:26], rows[26:]

    assert order(1) == order(1) != order(2)
    assert order(1)[0] != order(1)[1]
    assert order(None) == (list(range(4, 30)),) * 2


LENGTHS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=120)


@given(LENGTHS, st.integers(30, 200), st.integers(0, 5))
def test_every_pair_is_in_one_batch_and_no_batch_is_over_its_budget(lengths, max_tokens, epoch):
    batches = epoch_batches(lengths, max_tokens, seed=0, epoch=epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        for side in (0, 1):
            assert len(batch) * max(lengths[index][side] for index in batch) <= max_tokens


@given(LENGTHS, st.integers(30, 200))
def test_a_batch_is_closed_only_when_the_next_pair_would_not_fit(lengths, max_tokens):
    batches = token_budget_batches(lengths, max_tokens)
    assert [index for batch in batches for index in batch] == list(range(len(lengths)))
    for batch, following in pairwise(batches):
        together = [*batch, following[0]]
        assert len(together) * max(max(lengths[index]) for index in together) > max_tokens


def test_seed_and_epoch_decide_the_batches_and_these_do_not_go_from_short_to_long():
    lengths = [(1 + index % 20, 1) for index in range(2000)]
    first = epoch_batches(lengths, 100, seed=1)
    assert first == epoch_batches(lengths, 100, seed=1)
    assert first not in (epoch_batches(lengths, 100, seed=1, epoch=1), epoch_batches(lengths, 100, seed=2))
    widths = [lengths[batch[0]][0] for batch in first]
    half = len(widths) // 2
    assert abs(sum(widths[:half]) / half - sum(widths[half:]) / (len(widths) - half)) < 3


def test_like_lengths_together_waste_less_than_any_order():
    assert padding_waste([(1, 2), (3, 2)], [[0, 1]]) == pytest.approx(1 - 8 / 10), "cells are counted"
    lengths = [(1 + (index * 7) % 20, 1 + (index * 7) % 20) for index in range(1000)]
    assert padding_waste(lengths, epoch_batches(lengths, 200, seed=0)) < 0.1
    assert padding_waste(lengths, token_budget_batches(lengths, 200)) > 0.4
