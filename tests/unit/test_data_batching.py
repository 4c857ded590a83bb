"""Toy tasks, padding, the shifted target, shuffling."""

import pytest
import torch

from transformer_edu.data import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    SPECIALS,
    copy_pairs,
    encode_pairs,
    iterate_batches,
    make_batch,
    pad_sequences,
    random_sequences,
    reverse_pairs,
    vocabularies,
)


def test_copy_and_reverse_mean_what_they_say():
    for source, target in copy_pairs(20):
        assert source == target
    for source, target in reverse_pairs(20):
        assert source == list(reversed(target))
    assert [source for source, _ in copy_pairs(20)] == [source for source, _ in reverse_pairs(20)]


def test_toy_sequences_use_the_whole_range_and_no_special_id():
    sequences = random_sequences(500, vocab_size=9, min_len=2, max_len=5, seed=1)
    assert {len(ids) for ids in sequences} == {2, 3, 4, 5}
    assert {i for ids in sequences for i in ids} == set(range(len(SPECIALS), 9))
    assert sequences == random_sequences(500, vocab_size=9, min_len=2, max_len=5, seed=1)
    assert sequences != random_sequences(500, vocab_size=9, min_len=2, max_len=5, seed=2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"vocab_size": 4}, "vocab_size must be above 4"),
        ({"min_len": 0}, "min_len must be in 1 .. max_len"),
        ({"min_len": 9, "max_len": 8}, "min_len must be in 1 .. max_len = 8, got 9"),
    ],
)
def test_impossible_toy_tasks_are_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        copy_pairs(**{"count": 3, **arguments})


def test_batch_shifts_the_target_by_one_step():
    batch = make_batch([([5, 6, 7], [8, 9]), ([5], [8])])
    assert batch.source.tolist() == [[5, 6, 7], [5, PAD_ID, PAD_ID]]
    assert batch.target_in.tolist() == [[BOS_ID, 8, 9], [BOS_ID, 8, PAD_ID]]
    assert batch.target_out.tolist() == [[8, 9, EOS_ID], [8, EOS_ID, PAD_ID]]
    assert (batch.tokens, len(batch), batch.source.dtype) == (5, 2, torch.int64)


def test_batch_moves_as_a_whole():
    moved = make_batch([([5], [6])]).to("meta")
    assert {t.device.type for t in (moved.source, moved.target_in, moved.target_out)} == {"meta"}


@pytest.mark.parametrize(
    ("pairs", "error", "says"),
    [
        ([], ValueError, "pairs must hold at least one pair, got an empty batch"),
        ([([5], [6]), ([], [6])], ValueError, "source of pair 1 must hold at least one id"),
        ([([5], [])], ValueError, "target of pair 0 must hold at least one id"),
        ([([10], [6])], ValueError, r"source of pair 0 must hold ids in 0 \.\. 9, got 10"),
        ([([5], [12])], ValueError, r"target of pair 0 must hold ids in 0 \.\. 11, got 12"),
        ([([-1], [6])], ValueError, "got -1"),
        ([([5.0], [6])], TypeError, "ids of type int, got 5.0"),
        ([([True], [6])], TypeError, "ids of type int, got True"),
        ([([0], [6])], ValueError, "must not hold pad_id = 0"),
    ],
)
def test_bad_pairs_are_refused_where_they_enter(as_readers_run_it, pairs, error, says):
    with pytest.raises(error, match=says):
        make_batch(pairs, source_vocab_size=10, target_vocab_size=12)


def test_no_sequences_cannot_be_padded():
    with pytest.raises(ValueError, match="sequences must hold at least one sequence"):
        pad_sequences([])


def test_an_epoch_uses_every_pair_once_and_the_next_in_another_order():
    pairs = [([index], [index]) for index in range(4, 30)]
    batches = list(iterate_batches(pairs, 8, seed=0, epochs=2))
    seen = [row for batch in batches for row in batch.source[:, 0].tolist()]
    assert [len(batch) for batch in batches] == [8, 8, 8, 2] * 2
    assert sorted(seen[:26]) == sorted(seen[26:]) == list(range(4, 30))
    assert seen[:26] != seen[26:]
    assert seen[:26] != list(range(4, 30))


def test_order_depends_on_the_seed_alone():
    pairs = [([index], [index]) for index in range(4, 30)]

    def order(seed):
        return [row for batch in iterate_batches(pairs, 8, seed=seed) for row in batch.source[:, 0].tolist()]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(None) == list(range(4, 30))


def test_endless_batches_go_on_after_an_epoch():
    stream = iterate_batches([([5], [6])], 1, seed=0, epochs=None)
    assert len([next(stream) for _ in range(5)]) == 5


@pytest.mark.parametrize(("pairs", "size", "says"), [([], 4, "pairs"), ([([5], [6])], 0, "batch_size")])
def test_impossible_batches_are_refused(pairs, size, says):
    with pytest.raises(ValueError, match=says):
        next(iterate_batches(pairs, size))


def test_sentence_pairs_become_ids_without_begin_and_end():
    source, target = vocabularies()
    [(left, right)] = encode_pairs([("the cat sleeps", "le chat dort")], source, target)
    assert (len(left), len(right)) == (3, 3)
    assert (source.decode(left), target.decode(right)) == ("the cat sleeps", "le chat dort")
