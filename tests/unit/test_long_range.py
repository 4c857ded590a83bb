"""Five architectures on one long-range task: same budget, same task, and what each can see."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu import recordings
from transformer_edu.book.experiments.long_range import (
    CONTENDERS,
    DISTANCES,
    VOCAB_SIZE,
    Convolution,
    accuracy,
    commonest_token_accuracy,
    new_contender,
    sequences,
    train_contender,
)

pytestmark = pytest.mark.usefixtures("at_readers_speed")


def generator():
    return torch.Generator().manual_seed(0)


def moved_by(model, length):
    """The distances, counted back from the last place, from which a changed token moves the answer."""
    ids, _ = sequences(4, length - 1, generator())
    rows = []
    for place in range(length):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % VOCAB_SIZE
        rows.append(not torch.equal(model(ids), model(changed)))
    return [length - 1 - place for place, moved in enumerate(rows) if moved][::-1]


def test_all_contenders_have_the_same_budget():
    counts = [sum(parameter.numel() for parameter in new_contender(name).parameters()) for name in CONTENDERS]
    assert max(counts) < 1.1 * min(counts)
    assert (min(counts), max(counts)) == (9064, 9296)  # as the comment in the module says


def test_convolution_sees_exactly_its_reach_and_recurrence_and_attention_every_token():
    torch.manual_seed(0)
    model = Convolution(16, (1, 1, 1))
    assert model.reach == 6
    assert moved_by(model, 10) == [0, 1, 2, 3, 4, 5, 6]
    reach = {name: new_contender(name).reach for name in ("convolution", "dilated convolution")}
    assert reach == {"convolution": 8, "dilated convolution": 126}
    for name in ("RNN", "GRU", "self-attention"):
        assert moved_by(new_contender(name), 10) == list(range(10))


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.long
def test_contender_learns_at_a_short_distance_and_stops_early(name):
    outcome = train_contender(name, 2, steps=200)
    assert outcome.accuracy > 0.99
    assert outcome.steps < 200
    assert not outcome.model.training


def test_accuracy_counts_right_answers():
    first, last = nn.Module(), nn.Module()
    first.forward = lambda ids: nn.functional.one_hot(ids[:, 0], VOCAB_SIZE).float()
    last.forward = lambda ids: nn.functional.one_hot(ids[:, -1], VOCAB_SIZE).float()
    assert accuracy(first, 5) == 1
    assert abs(accuracy(last, 5) - 1 / VOCAB_SIZE) < 0.05


@pytest.mark.long
@pytest.mark.parametrize("distance", [2, 16, 128])
def test_commonest_token_accuracy_counts_rows_one_by_one_on_the_sequences_of_accuracy(distance):
    seen = nn.Module()
    seen.forward = lambda ids: setattr(seen, "rows", ids.tolist()) or torch.zeros(len(ids), VOCAB_SIZE)
    accuracy(seen, distance)
    named = [min(row, key=lambda token: (-row.count(token), token)) for row in seen.rows]
    right = sum(name == row[0] for name, row in zip(named, seen.rows, strict=True))
    assert commonest_token_accuracy(distance) == pytest.approx(right / 1000)


def test_attention_pays_more_than_convolution_for_four_times_the_length():
    def operations(name, length):
        """Multiplications and additions of one answer; written out, so that those of attention are counted, too."""
        with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            new_contender(name)(sequences(1, length - 1, generator())[0])
        return counter.get_total_flops()

    grows = {name: operations(name, 512) / operations(name, 128) for name in ("self-attention", "convolution")}
    assert grows["self-attention"] > 1.5 * grows["convolution"]


def test_recording_shows_what_the_chapter_says():
    data = recordings.load("long-range")["data"]

    def recorded(name, distance, key="runs"):
        return [run["accuracy"] for run in data[key] if (run["model"], run["distance"]) == (name, distance)]

    for name, inside, outside in (("convolution", 8, 16), ("dilated convolution", 64, 128)):  # as far as they reach
        assert min(recorded(name, inside)) > 0.98
        assert max(recorded(name, outside)) < 0.2
    assert min(min(recorded("self-attention", distance)) for distance in DISTANCES) > 0.98
    assert max(recorded("RNN", 32) + recorded("RNN", 32, "patient")) < 0.5
    assert max(recorded("GRU", 32)) > 0.98  # one seed of three: a gate reaches further than tanh
    assert min(recorded("GRU", 32, "patient")) > 0.98
