"""Properties of the whole model: causality, padding, batches, recording, cached decoding."""

import pytest

from tests.properties import properties as must
from tests.properties.models import BOS, EOS, SOURCE, lively_model
from transformer_edu import greedy_search

pytestmark = pytest.mark.usefixtures("at_readers_speed")  # shapes and types are checked in parity and parts
TRAINING = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
LAYERS = pytest.mark.parametrize("num_layers", [2, pytest.param(6, marks=pytest.mark.long)])
NORM = pytest.mark.parametrize("norm", ["post", "pre"])


@TRAINING
@NORM
@LAYERS
@pytest.mark.parametrize("how", ["plain", "cached", "recorded"])
def test_future_tokens_never_change_earlier_outputs(how, num_layers, norm, training):
    must.future_tokens_never_change_earlier_outputs(
        training=training, cached=how == "cached", recorded=how == "recorded", num_layers=num_layers, norm=norm
    )


@TRAINING
@NORM
@pytest.mark.parametrize("side", ["source", "target"])
def test_more_padding_changes_nothing(side, norm, training):
    must.more_padding_changes_nothing(side=side, norm=norm, training=training)


@TRAINING
@NORM
def test_other_sentences_change_nothing(norm, training):
    must.other_sentences_change_nothing(norm=norm, training=training)


@TRAINING
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_recorded_weights_sum_to_one_over_keys(training, dropout):
    must.recorded_weights_sum_to_one(training=training, dropout=dropout)


@NORM
@LAYERS
@pytest.mark.parametrize("chunks", [(1,) * 6, (6,), (3, 3), (1, 4, 1), (2, 1, 3)], ids=str)
def test_cached_steps_equal_the_full_pass(chunks, num_layers, norm):
    must.cached_steps_equal_the_full_pass(chunks=chunks, num_layers=num_layers, norm=norm)


@pytest.mark.parametrize("kept", [(0, 1, 2), (2, 0, 2), (1,), (2, 0, 2, 1, 0)], ids=str)
def test_reordered_cache_follows_its_rows(kept):
    must.reordered_cache_follows_its_rows(kept)


@NORM
@pytest.mark.parametrize("seed", range(6))
def test_greedy_with_cache_equals_greedy_by_hand(seed, norm):
    must.greedy_equals_greedy_by_hand(seed=seed, norm=norm)


@pytest.mark.long
def test_the_greedy_comparison_meets_lively_sentences_of_different_lengths():
    found = [greedy_search(lively_model(seed, "pre"), SOURCE, BOS, EOS, max_len=12) for seed in range(6)]
    rows = [row.tolist() for ids in found for row in ids]
    lengths = [[([*row.tolist(), EOS]).index(EOS) for row in ids] for ids in found]
    assert any(len(set(batch)) > 1 for batch in lengths), f"all sentences of a batch end together: {lengths}"
    assert any(len(set(row)) >= 6 for row in rows), f"no sentence has four different words: {rows}"
    assert all(row[0] == BOS and row.count(BOS) == 1 for row in rows)


@pytest.mark.parametrize(
    "holds",
    [
        must.padded_tokens_get_no_gradient,
        must.recorded_weights_are_the_ones_used,
        must.recorded_maps_hold_no_graph,
        must.greedy_never_chooses_pad_or_begin,
        must.searching_leaves_the_mode_as_it_was,
    ],
)
def test_property(holds):
    holds()
