"""Greedy search: what comes back, and in what state the model is left."""

import pytest
import torch

from tests.properties.models import BOS, EOS, SOURCE, force_scores, small_model
from transformer_edu import greedy_search


def test_search_can_fill_the_positional_table():
    model = force_scores(small_model(max_len=5), {6: 5.0})
    assert greedy_search(model, SOURCE, BOS, EOS, max_len=5).shape == (3, 5)


def test_search_takes_no_gradient_and_its_answers_can_be_trained_on():
    model = small_model(training=True)
    ids = greedy_search(model, SOURCE, BOS, EOS, max_len=5)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()
    model(SOURCE, ids).sum().backward()
    assert model.target_embedding.lookup.weight.grad.isfinite().all()
    assert ids.dtype == torch.long
    assert not ids.is_inference()


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
