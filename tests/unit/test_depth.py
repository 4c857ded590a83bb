"""Encoders of several depths: the task, the three placements, the recorded outcome."""

import pytest
import torch
from experiments import depth

from transformer_edu import recordings

pytestmark = pytest.mark.usefixtures("at_readers_speed")


def test_the_answer_is_the_sorted_sequence():
    ids, answer = depth.sequences(100, torch.Generator().manual_seed(0))
    assert torch.equal(ids.sort(dim=1).values, answer)


def test_every_placement_starts_with_the_same_weights():
    post, pre, bare = (depth.new_sorter(placement, 2, seed=3).state_dict() for placement in depth.PLACEMENTS)
    assert all(torch.equal(pre[name], post[name]) and torch.equal(bare[name], post[name]) for name in post)


def test_warm_up_begins_with_small_steps():
    before = depth.new_sorter("post", 1).state_dict()
    moved = {}
    for warmup_steps in (0, 100):
        after = depth.train_sorter("post", 1, rate=0.01, warmup_steps=warmup_steps, steps=1).model.state_dict()
        moved[warmup_steps] = max((after[name] - before[name]).abs().max().item() for name in before)
    assert moved[0] == pytest.approx(0.01, rel=0.01)  # Adam's first step is as long as the rate
    assert moved[100] == pytest.approx(0.0001, rel=0.01)


def test_recording_shows_what_the_chapter_says():
    def accuracies(**wanted):
        runs = recordings.load("depth")["data"]["runs"]
        return [run["accuracy"] for run in runs if wanted.items() <= run.items()]

    deep = {"num_layers": 12, "placement": "post", "rate": 0.003}
    assert max(accuracies(**deep, warmup_steps=0)) < 0.2
    assert min(accuracies(**deep, warmup_steps=100)) > 0.7
    assert min(accuracies(num_layers=12, placement="pre")) > 0.95
    assert max(accuracies(num_layers=12, placement="no residual")) < 0.3
