"""The training replay as a Python object: its recording, made again in part, and its words."""

import base64

import pytest
import torch
from experiments import training_replay

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, recordings
from transformer_edu.book.figures import TrainingReplay
from transformer_edu.book.figures.training_replay import turning_point, weights_at

pytestmark = pytest.mark.usefixtures("at_readers_speed")
STORED = recordings.load("training-replay")["data"]


EXAMPLE = {"step": 100, "run": 2, "layer": 0, "head": 3}
BAD = [
    (ValueError, "head must be from 0 to 3, got 4", {"head": 4}),
]
SAYS = [
    ({"replay": recordings.load("training-replay"), "step": 0}, "1000 steps (“the recipe”) after 0 of them"),
    ({"step": 1000}, f"For “{RUNNING_SENTENCE}” it writes “{RUNNING_TRANSLATION}”", "100 % of unseen sentences right"),
]


def test_recipe_learns_high_rate_without_warm_up_does_not_low_rate_is_slow():
    recipe, high, low = (run["moments"] for run in STORED["runs"])
    assert recipe[-1]["exact"] >= 0.97
    assert min(recipe[-1]["p"]) > 0.8
    assert max(look["exact"] for look in high) < 0.05
    assert high[-1]["loss"] > 3
    assert recipe[-1]["loss"] < low[-1]["loss"] < 2
    assert turning_point(STORED, 1) == len(STORED["moments"]) - 1
    assert turning_point(STORED, 0) < turning_point(STORED, 2) < len(STORED["moments"]) - 1


@pytest.mark.slow
def test_first_steps_made_again_are_those_of_the_recording():
    fresh = training_replay.record_run(training_replay.PLANS[1], moments=(0, 10))
    for new, stored in zip(fresh["moments"], STORED["runs"][1]["moments"][:2], strict=True):
        assert new["written"] == stored["written"]
        assert new["p"] == pytest.approx(stored["p"], abs=1e-3)
        assert (new["loss"], new["rate"]) == pytest.approx((stored["loss"], stored["rate"] or None), abs=1e-3)
        pairs = zip(base64.b64decode(new["weights"]), base64.b64decode(stored["weights"]), strict=True)
        assert max(abs(a - b) for a, b in pairs) <= 1


def test_head_that_ends_up_aligned_is_shown_first():
    for layer in (0, 1):
        heads = torch.tensor([weights_at(STORED, 0, -1, layer, head) for head in range(4)])
        aligned = sum(heads[:, written, read] for read, written in STORED["alignment"])
        assert TrainingReplay(layer=layer).head == aligned.argmax()
