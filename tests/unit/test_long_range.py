"""Five architectures on one long-range task: same budget, same task, and what each can see."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu import recordings
from transformer_edu.experiments import long_range, step_time
from transformer_edu.experiments.long_range import (
    CONTENDERS,
    Convolution,
    accuracy,
    commonest_token_accuracy,
    new_contender,
    sequences,
    train_contender,
)

NAMES = list(CONTENDERS)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def moved_by(model: nn.Module, length: int) -> list[int]:
    """The distances, counted back from the last place, from which a changed token moves the answer."""
    ids, _ = sequences(4, length - 1, generator())
    rows = []
    for place in range(length):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % long_range.VOCAB_SIZE
        rows.append(not torch.equal(model(ids), model(changed)))
    return [length - 1 - place for place, moved in enumerate(rows) if moved][::-1]


def test_all_contenders_have_the_same_budget():
    counts = [sum(parameter.numel() for parameter in new_contender(name).parameters()) for name in NAMES]
    assert max(counts) < 1.1 * min(counts)
    assert (min(counts), max(counts)) == (9064, 9296)  # as the comment in the module says


def test_the_answer_is_the_first_token_and_it_stands_distance_tokens_back():
    ids, answer = sequences(5, 7, generator())
    assert ids.shape == (5, 8)
    assert torch.equal(answer, ids[:, -1 - 7])
    assert set(ids.flatten().tolist()) <= set(range(long_range.VOCAB_SIZE))


@pytest.mark.parametrize("name", NAMES)
def test_contender_gives_logits_at_the_last_place(name):
    ids, _ = sequences(3, 9, generator())
    assert new_contender(name)(ids).shape == (3, long_range.VOCAB_SIZE)


@pytest.mark.parametrize("name", NAMES)
def test_weights_depend_on_the_seed_alone_and_leave_the_random_state(name):
    before = torch.get_rng_state()
    one, same, other = (new_contender(name, seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert any(not torch.equal(one[key], other[key]) for key in one)


def test_convolution_sees_exactly_its_reach():
    torch.manual_seed(0)
    model = Convolution(16, (1, 1, 1))
    assert model.reach == 6
    assert moved_by(model, 10) == [0, 1, 2, 3, 4, 5, 6]


def test_reach_of_the_contenders():
    reach = {name: model.reach for name in NAMES if isinstance(model := new_contender(name), Convolution)}
    assert reach == {"convolution": 8, "dilated convolution": 126}


@pytest.mark.parametrize("name", ["RNN", "GRU", "self-attention"])
def test_recurrence_and_attention_can_see_every_token(name):
    assert moved_by(new_contender(name), 10) == list(range(10))


@pytest.mark.parametrize("name", NAMES)
def test_contender_learns_at_a_short_distance_and_stops_early(name):
    outcome = train_contender(name, 2, steps=200)
    assert outcome.accuracy > 0.99
    assert outcome.steps < 200
    assert not outcome.model.training


def test_what_lies_outside_the_reach_stays_a_guess():
    outcome = train_contender("convolution", 9, steps=40)
    assert outcome.steps == 40
    assert outcome.accuracy < 0.25


def test_training_again_gives_the_same_result():
    one, same = (train_contender("convolution", 3, seed=1, steps=5) for _ in range(2))
    assert one.accuracy == same.accuracy
    assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), same.model.parameters(), strict=True))


def test_accuracy_counts_right_answers():
    class First(nn.Module):
        def forward(self, ids):
            return nn.functional.one_hot(ids[:, 0], long_range.VOCAB_SIZE).float()

    class Last(nn.Module):
        def forward(self, ids):
            return nn.functional.one_hot(ids[:, -1], long_range.VOCAB_SIZE).float()

    assert accuracy(First(), 5) == 1
    assert abs(accuracy(Last(), 5) - 1 / long_range.VOCAB_SIZE) < 0.05


@pytest.mark.parametrize("distance", [2, 16, 128])
def test_commonest_token_accuracy_counts_rows_one_by_one_on_the_sequences_of_accuracy(distance):
    class Seen(nn.Module):
        def forward(self, ids):
            self.rows = ids.tolist()
            return torch.zeros(len(ids), long_range.VOCAB_SIZE)

    accuracy(seen := Seen(), distance)
    named = [min(row, key=lambda token: (-row.count(token), token)) for row in seen.rows]
    right = sum(name == row[0] for name, row in zip(named, seen.rows, strict=True))
    assert commonest_token_accuracy(distance) == pytest.approx(right / 1000)


def test_naming_the_commonest_token_beats_guessing_by_less_and_less():
    shares = [commonest_token_accuracy(distance) for distance in (1, 4, 32, 1000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5  # one of two tokens
    assert 1 / long_range.VOCAB_SIZE < shares[-1] < 0.2


def test_bad_input_is_named(as_readers_run_it):
    with pytest.raises(ValueError, match=r"name must be one of 'RNN'.*got 'CNN'"):
        train_contender("CNN", 4)
    with pytest.raises(ValueError, match="distance must be at least 1, got 0"):
        sequences(2, 0, generator())
    with pytest.raises(ValueError, match="distance must be below 2048"):
        sequences(2, 2048, generator())
    with pytest.raises(ValueError, match="distance must be at least 1, got 0"):
        commonest_token_accuracy(0)
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        train_contender("RNN", 4, steps=0)
    with pytest.raises(ValueError, match="learning_rate"):
        train_contender("RNN", 4, learning_rate=-1.0)
    with pytest.raises(ValueError, match="length must be at least 2, got 1"):
        step_time.step_seconds(new_contender("RNN"), 1)


def test_command_prints_every_contender(capsys):
    long_range.main(["--distance", "2", "--steps", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == NAMES
    assert all("right after 1 steps" in line for line in lines)


def operations(name: str, length: int) -> int:
    """Multiplications and additions of one answer; written out, so that the counter sees those of attention too."""
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        new_contender(name)(sequences(1, length - 1, generator())[0])
    return counter.get_total_flops()


def test_attention_pays_more_than_convolution_for_four_times_the_length():
    attention, convolution = (
        operations(name, 512) / operations(name, 128) for name in ("self-attention", "convolution")
    )
    assert attention > 1.5 * convolution


def test_recordings_hold_every_contender_once_for_each_setting():
    data = long_range.record_long_range([0, 1], distances=[2, 3], steps=1, patient_steps=2)
    assert [(run["model"], run["distance"], run["seed"]) for run in data["runs"]] == [
        (name, distance, seed) for name in NAMES for distance in (2, 3) for seed in (0, 1)
    ]
    assert [(run["model"], run["distance"], run["seed"], run["steps"]) for run in data["patient"]] == [
        (name, 32, seed, 2) for name in ("RNN", "GRU") for seed in (0, 1)
    ]
    assert data["patient"][0].keys() == data["runs"][0].keys()
    assert (data["most_steps"], data["patient_most_steps"]) == (1, 2)
    assert [row["distance"] for row in data["commonest"]] == [2, 3]
    assert data["parameters"]["RNN"] == 9232
    times = step_time.record_step_times([2, 4])["times"]
    assert [(row["model"], row["length"]) for row in times] == [(name, length) for name in NAMES for length in (2, 4)]
    assert all(row["milliseconds"] > 0 for row in times)


def recorded(name: str, distance: int) -> list[float]:
    runs = recordings.load("long-range")["data"]["runs"]
    return [run["accuracy"] for run in runs if run["model"] == name and run["distance"] == distance]


def test_recorded_convolutions_learn_exactly_as_far_as_they_reach():
    for name, inside, outside in (("convolution", 8, 16), ("dilated convolution", 64, 128)):
        assert min(recorded(name, inside)) > 0.98
        assert max(recorded(name, outside)) < 0.2


def test_recorded_attention_learns_every_distance_and_the_rnn_does_not():
    assert min(min(recorded("self-attention", distance)) for distance in long_range.DISTANCES) > 0.98
    assert max(recorded("RNN", 32)) < 0.5
    assert max(recorded("GRU", 32)) > 0.98  # one seed of three: a gate reaches further than tanh


def test_recorded_patience_helps_the_gru_and_not_the_rnn():
    data = recordings.load("long-range")["data"]
    scores = {
        name: [run["accuracy"] for run in data["patient"] if (run["model"], run["distance"]) == (name, 32)]
        for name in ("RNN", "GRU")
    }
    assert [len(values) for values in scores.values()] == [3, 3]
    assert min(scores["GRU"]) > 0.98
    assert max(scores["RNN"]) < 0.5


def test_recorded_commonest_is_what_the_function_counts():
    rows = recordings.load("long-range")["data"]["commonest"]
    assert [row["distance"] for row in rows] == list(long_range.DISTANCES)
    for row in rows:
        assert row["accuracy"] == pytest.approx(commonest_token_accuracy(row["distance"]), abs=5e-5)


def test_recorded_attention_pays_for_the_square_of_the_length():
    times = recordings.load("step-times")["data"]["times"]
    by = {(row["model"], row["length"]): row["milliseconds"] for row in times}
    assert by["self-attention", 1024] / by["self-attention", 512] > 3
    assert by["RNN", 1024] / by["RNN", 512] < 3


def test_a_timed_step_leaves_no_gradient():
    model = new_contender("convolution")
    assert step_time.step_seconds(model, 8, batch_size=2, repeats=1) > 0
    assert all(parameter.grad is None for parameter in model.parameters())


def test_time_command_prints_a_row_for_every_contender(capsys):
    step_time.main(["--lengths", "2", "4"])
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[1:] == ["2", "4"]
    assert len(rows) == len(NAMES)
