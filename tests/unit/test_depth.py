"""Encoders of several depths: the task, the three placements, the recorded outcome."""

import pytest
import torch

from transformer_edu import recordings
from transformer_edu.experiments import depth
from transformer_edu.support.threads import one_thread


def runs(**wanted):
    stored = recordings.load("depth")["data"]["runs"]
    return [run for run in stored if all(run[name] == value for name, value in wanted.items())]


def test_the_answer_is_the_sorted_sequence():
    ids, answer = depth.sequences(100, torch.Generator().manual_seed(0))
    assert ids.shape == (100, depth.LENGTH)
    assert (answer.diff(dim=1) >= 0).all()
    assert torch.equal(ids.sort(dim=1).values, answer)


@pytest.mark.parametrize("placement", depth.PLACEMENTS)
def test_weights_depend_on_the_seed_alone(placement):
    torch.manual_seed(7)
    one = depth.new_sorter(placement, 2, seed=3).state_dict()
    torch.manual_seed(8)
    two = depth.new_sorter(placement, 2, seed=3).state_dict()
    other = depth.new_sorter(placement, 2, seed=4).state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_without_a_residual_a_silent_sublayer_leaves_nothing_of_the_input():
    x = torch.randn(2, 3, depth.D_MODEL)
    assert depth.Straight(depth.D_MODEL)(x, torch.zeros_like).abs().max() == 0


def test_two_layers_learn_to_sort():
    with one_thread():
        outcome = depth.train_sorter("pre", 2, seed=0, steps=100)
    assert len(outcome.losses) == 100
    assert outcome.losses[0] > 1.9
    assert outcome.losses[-1] < 0.6
    assert outcome.accuracy > 0.7


def test_warm_up_begins_with_small_steps():
    with one_thread():
        before = depth.new_sorter("post", 1).state_dict()
        moved = {}
        for warmup_steps in (0, 100):
            after = depth.train_sorter("post", 1, rate=0.01, warmup_steps=warmup_steps, steps=1).model.state_dict()
            moved[warmup_steps] = max((after[name] - before[name]).abs().max().item() for name in before)
    assert moved[0] == pytest.approx(0.01, rel=0.01)  # Adam's first step is as long as the rate
    assert moved[100] == pytest.approx(0.0001, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"placement": "between", "num_layers": 2}, ValueError, "placement must be one of"),
        ({"placement": "post", "num_layers": 0}, ValueError, "num_layers must be at least 1, got 0"),
        ({"placement": "post", "num_layers": 1, "rate": 0.0}, ValueError, "rate must be a finite number"),
        ({"placement": "post", "num_layers": 1, "warmup_steps": -1}, ValueError, "warmup_steps must be at least 0"),
        ({"placement": "post", "num_layers": 1, "steps": 0}, ValueError, "steps must be at least 1, got 0"),
    ],
)
def test_bad_arguments_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        depth.train_sorter(**arguments)


def test_a_loss_that_is_not_finite_stops_the_run(monkeypatch):
    monkeypatch.setattr(depth.F, "cross_entropy", lambda logits, answer: logits.sum() * float("nan"))
    with pytest.raises(FloatingPointError, match=r"at step 1 with rate 0\.003"):
        depth.train_sorter("post", 1, steps=2)


def test_recording_is_complete():
    data = recordings.load("depth")["data"]
    found = [{name: run[name] for name in ("num_layers", "placement", "rate", "warmup_steps")} for run in data["runs"]]
    assert found == [setting for setting in depth.settings() for _ in depth.SEEDS]
    assert all(len(run["losses"]) == data["steps"] // data["every"] for run in data["runs"])


def test_recording_shows_what_the_chapter_says():
    deep = {"num_layers": 12, "placement": "post", "rate": 0.003}
    assert max(run["accuracy"] for run in runs(**deep, warmup_steps=0)) < 0.2
    assert min(run["accuracy"] for run in runs(**deep, warmup_steps=100)) > 0.7
    assert min(run["accuracy"] for run in runs(num_layers=12, placement="pre")) > 0.95
    assert max(run["accuracy"] for run in runs(num_layers=12, placement="no residual")) < 0.3


def test_the_command_prints_a_line_for_each_setting(capsys):
    depth.main(["--layers", "1", "--steps", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(depth.PLACEMENTS)
    assert lines[0].startswith("post")
    assert "warm-up   0 steps" in lines[0]


def test_a_recording_of_two_steps_holds_every_setting(monkeypatch):
    monkeypatch.setattr(depth, "STEPS", 2)
    monkeypatch.setattr(depth, "DEPTHS", (1,))
    monkeypatch.setattr(depth, "SEEDS", (0,))
    short = depth.train_sorter
    monkeypatch.setattr(depth, "train_sorter", lambda *args, **kwargs: short(*args, **kwargs, steps=2))
    data = depth.record_depth(every=1)
    assert [len(run["losses"]) for run in data["runs"]] == [2] * len(list(depth.settings()))
