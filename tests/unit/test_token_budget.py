"""Batches by a budget of tokens."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_edu.data.token_budget import epoch_batches, padding_waste, token_budget_batches

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


def test_seed_and_epoch_decide_the_batches():
    lengths = [(1 + index % 9, 1 + index % 7) for index in range(300)]
    first = epoch_batches(lengths, 60, seed=1)
    assert first == epoch_batches(lengths, 60, seed=1)
    assert first != epoch_batches(lengths, 60, seed=1, epoch=1)
    assert first != epoch_batches(lengths, 60, seed=2)


def test_batches_do_not_go_from_short_to_long():
    lengths = [(1 + index % 20, 1) for index in range(2000)]
    widths = [lengths[batch[0]][0] for batch in epoch_batches(lengths, 100, seed=0)]
    assert widths != sorted(widths)
    half = len(widths) // 2
    assert abs(sum(widths[:half]) / half - sum(widths[half:]) / (len(widths) - half)) < 3


def test_like_lengths_together_waste_less_than_any_order():
    lengths = [(1 + (index * 7) % 20, 1 + (index * 7) % 20) for index in range(1000)]
    assert padding_waste(lengths, epoch_batches(lengths, 200, seed=0)) < 0.1
    assert padding_waste(lengths, token_budget_batches(lengths, 200)) > 0.4


def test_padding_waste_counts_cells():
    assert padding_waste([(1, 2), (3, 2)], [[0, 1]]) == pytest.approx(1 - 8 / 10)
    assert padding_waste([(2, 2)], [[0]]) == 0


def test_a_sentence_longer_than_the_budget_is_named():
    with pytest.raises(ValueError, match=r"max_tokens must fit the longest sentence, 9 tokens \(pair 1\), got 8"):
        token_budget_batches([(2, 2), (9, 1)], 8)
    with pytest.raises(ValueError, match="batches must hold at least one pair"):
        padding_waste([(2, 2)], [])
