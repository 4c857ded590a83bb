"""Greedy search: what comes back, and in what state the model is left."""

import pytest
import torch

from tests.properties.models import BOS, EOS, PAD, SOURCE, force_scores, lively_model, small_model
from transformer_edu import greedy_search
from transformer_edu.decoding.greedy import evaluation_mode


def test_rows_begin_with_bos_and_are_padded_after_eos():
    for seed in range(6):
        ids = greedy_search(lively_model(seed, "pre"), SOURCE, BOS, EOS, max_len=12)
        for row in ids.tolist():
            assert row[0] == BOS
            words, after = (row[: row.index(EOS)], row[row.index(EOS) + 1 :]) if EOS in row else (row, [])
            assert PAD not in words
            assert set(after) <= {PAD}


def test_search_stops_when_every_sentence_has_ended():
    model = force_scores(small_model(), {EOS: 5.0})
    assert greedy_search(model, SOURCE, BOS, EOS, max_len=12).tolist() == [[BOS, EOS]] * 3


@pytest.mark.parametrize("max_len", [2, 3, 7])
def test_max_len_counts_the_begin_token(max_len):
    model = force_scores(small_model(), {6: 5.0})
    assert greedy_search(model, SOURCE, BOS, EOS, max_len).tolist() == [[BOS] + [6] * (max_len - 1)] * 3


def test_search_can_fill_the_positional_table():
    model = force_scores(small_model(max_len=5), {6: 5.0})
    assert greedy_search(model, SOURCE, BOS, EOS, max_len=5).shape == (3, 5)


def test_batch_of_one_gives_the_answer_it_gives_among_others():
    model = lively_model(0, "pre")
    together = greedy_search(model, SOURCE, BOS, EOS, max_len=10)
    for row, source in enumerate(SOURCE):
        alone = greedy_search(model, source[source != PAD][None], BOS, EOS, max_len=10)
        kept = together[row, : alone.shape[1]]
        assert alone[0].tolist() == kept.tolist()
        assert set(together[row, alone.shape[1] :].tolist()) <= {PAD}


def test_answers_can_be_trained_on():
    model = small_model(training=True)
    ids = greedy_search(model, SOURCE, BOS, EOS, max_len=5)
    model(SOURCE, ids).sum().backward()
    assert model.target_embedding.lookup.weight.grad.isfinite().all()
    assert ids.dtype == torch.long
    assert not ids.is_inference()


def test_search_takes_no_gradient():
    model = small_model()
    greedy_search(model, SOURCE, BOS, EOS, max_len=5)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


def test_modes_are_put_back_after_an_error_too():
    model = small_model(training=True)
    model.encoder.eval()

    def fail(*_):
        raise RuntimeError("a hook that fails")

    handle = model.projection.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="a hook that fails"):
        greedy_search(model, SOURCE, BOS, EOS, max_len=5)
    handle.remove()
    assert model.training
    assert model.decoder.training
    assert not model.encoder.training
    assert torch.is_grad_enabled()


def test_evaluation_mode_reaches_every_part():
    model = small_model(training=True)
    with evaluation_mode(model):
        assert not any(module.training for module in model.modules())
    assert all(module.training for module in model.modules())
