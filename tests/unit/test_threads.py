"""Threads that share a model: each gets its own answers, and the model is left as it was found."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from tests.properties.models import BOS, EOS, SOURCE, TARGET, small_model, traces
from transformer_edu import beam_search, greedy_search, mask_position, record_activations, record_attention
from transformer_edu.decoding.sampling import sample
from transformer_edu.support.modes import evaluation_mode, training_mode

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("at_readers_speed")]
RECORDERS = pytest.mark.parametrize("record", [record_attention, record_activations])


@pytest.fixture
def elsewhere():
    """Two functions that run what they are given in two other threads, always the same, and wait for it."""
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        yield [lambda *call, pool=pool: pool.submit(*call).result() for pool in (one, other)]


def modes(model):
    return [module.training for module in model.modules()]


def test_the_last_of_several_threads_puts_the_modes_back(elsewhere):
    model = small_model(training=True)
    model.decoder.eval()
    before = modes(model)
    blocks = [evaluation_mode(model) for _ in elsewhere]
    for run, block in zip(elsewhere, blocks, strict=True):
        run(block.__enter__)
        assert not any(modes(model))
    for run, block in zip(elsewhere, blocks, strict=True):
        assert not any(modes(model)), "the second thread is not done"
        run(block.__exit__, None, None, None)
    assert modes(model) == before


def test_a_thread_that_leaves_two_blocks_leaves_the_inner_one_to_the_others(elsewhere):
    model, (one, other) = small_model(training=True), elsewhere
    outer, inner, shared = training_mode(model), evaluation_mode(model), evaluation_mode(model)
    one(outer.__enter__)
    one(inner.__enter__)
    other(shared.__enter__)
    one(inner.__exit__, None, None, None)
    one(outer.__exit__, None, None, None)
    assert not any(modes(model))
    other(shared.__exit__, None, None, None)
    assert all(modes(model))


def test_a_mode_that_another_thread_relies_on_cannot_be_changed(elsewhere):
    model = small_model(training=True)
    with training_mode(model):
        with pytest.raises(RuntimeError, match="evaluation mode while another thread relies on its training mode"):
            elsewhere[0](greedy_search, model, SOURCE, BOS, EOS, 5)
        with evaluation_mode(model):
            assert not any(modes(model)), "its own thread may change it"
        assert all(modes(model))
    elsewhere[0](greedy_search, model, SOURCE, BOS, EOS, 5)
    assert all(modes(model))


@pytest.mark.parametrize("search", [greedy_search, beam_search, sample])
def test_searches_in_many_threads_give_their_answers_and_leave_the_mode(search):
    model, start = small_model(training=True), Barrier(6)
    alone = greedy_search(model, SOURCE, BOS, EOS, 8)

    def go(_):
        start.wait()
        return [search(model, SOURCE, BOS, EOS, 8) for _ in range(5)]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(go, range(6)))
    assert all(modes(model))
    if search is greedy_search:
        assert all(torch.equal(answer, alone) for several in answers for answer in several)


@RECORDERS
def test_each_thread_records_its_own_passes_and_nothing_is_left_on(record, elsewhere):
    model = small_model()
    before = traces(model)
    blocks = [record(model) for _ in elsewhere]
    recorded = [run(block.__enter__) for run, block in zip(elsewhere, blocks, strict=True)]
    for length, run in enumerate(elsewhere, start=2):
        run(model, SOURCE, TARGET[:, :length])
    model(SOURCE, TARGET)
    for run, block in zip(elsewhere, blocks, strict=True):
        run(block.__exit__, None, None, None)
    for length, maps in enumerate(recorded, start=2):
        assert maps["decoder.0.self"].shape[1 if record is record_activations else 2] == length
    assert traces(model) == before


def test_blocked_attention_is_blocked_for_its_own_thread_alone(elsewhere):
    model = small_model()
    free = model(SOURCE, TARGET)
    with mask_position([layer.self_attention for layer in model.encoder.layers], query=0, key=2):
        assert not torch.equal(model(SOURCE, TARGET), free)
        assert torch.equal(elsewhere[0](model, SOURCE, TARGET), free)


def test_recording_and_searching_in_many_threads_disturb_nobody():
    model, start = small_model(), Barrier(6)
    before, expected = traces(model), greedy_search(model, SOURCE, BOS, EOS, 8)

    def go(number):
        start.wait()
        for _ in range(5):
            assert torch.equal(greedy_search(model, SOURCE, BOS, EOS, 8), expected)
            with record_attention(model) as maps, record_activations(model):
                model(SOURCE, TARGET[:, : 1 + number])
            assert maps["decoder.0.cross"].shape == (3, 4, 1 + number, SOURCE.shape[1])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(go, range(6)))
    assert traces(model) == before
