"""The training replay as a Python object: its recording, made again in part, and its words."""

import base64

import pytest
import torch
from experiments import training_replay

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, record_attention, recordings
from transformer_edu.book.figures import TrainingReplay
from transformer_edu.book.figures.training_replay import best_head, turning_point, weights_at
from transformer_edu.data import encode_pairs, held_out_pairs, iterate_batches, vocabularies
from transformer_edu.training import evaluate_loss
from transformer_edu.training.grammar_model import grammar_learning_rate, new_grammar_model

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
SCENES = {
    "half the words are there, and Forward brings the rest": [
        "rouge rouge rouge rouge une … step 170 … 1.78 … le chat noir ne nage pas … le petit chat noir ne dort pas ✓",
        "Since step 160: to write chat it looks more at cat, 0.20 → 0.48.",
        "> button Forward",
        "step 180 … 1.58 … le petit chat noir ne dort pas ✓step 1000",
        "Yes. Of the unseen sentences, 13 % are right by then.",
        "> click .te-details summary; button Back",
        "Since step 160: loss 1.94 → 1.78, unseen sentences right 0.3 % → 2.3 %; surer of petit, 0.14 → 0.34.",
    ],
    "another rate, another head": [
        "> radio a tenth of the rate; slider step = 21; click .te-details summary",
        "This run gets there too: at step 600, not 180 … Since step 800",
        "> combobox attention of = layer 1, head 2",
        "~ a tenth of the rate, step 1000, layer 1, head 2. Since step 800",
        "> radio twice the rate, no warm-up; button Another question; button Show me",
        "never writes the sentence … Its loss falls from 5.14 to 4.02 only.",
    ],
    "play begins at the start": [
        "> button Play; button Pause",
        "step 0 … No correction yet: random weights, random words.",
    ],
}


def grown(at):
    """The pair of words whose weight grew most since the moment before, in the head that is shown, and both weights."""
    then, now = (weights_at(STORED, 0, moment, 1, best_head(STORED, 0, 1)) for moment in (at - 1, at))
    source, target = max(STORED["alignment"], key=lambda pair: now[pair[1]][pair[0]] - then[pair[1]][pair[0]])
    return [target, source, then[target][source], now[target][source]]


def numbers():
    """The recording; its weights; what the untrained model computes; the schedule."""
    model = new_grammar_model(0).eval()
    english, french = vocabularies()
    source = torch.tensor([english.encode(RUNNING_SENTENCE)])
    target = torch.tensor([french.encode(RUNNING_TRANSLATION, add_bos=True, add_eos=True)])
    with torch.no_grad(), record_attention(model) as maps:
        p = model(source, target[:, :-1])[0].softmax(-1)
    pairs = encode_pairs(held_out_pairs(STORED["held_out_sentences"]), english, french)
    moments, layers = range(len(STORED["moments"])), range(len(STORED["maps"]))
    return {
        "replay": STORED,
        "weights": [
            [[[weights_at(STORED, run, at, layer, head) for head in range(4)] for layer in layers] for at in moments]
            for run in range(len(STORED["runs"]))
        ],
        "untrained": {
            "p": p.gather(1, target[0, 1:, None])[:, 0].tolist(),
            "loss": evaluate_loss(model, iterate_batches(pairs, 100), smoothing=STORED["smoothing"]),
            "weights": [maps[name][0].tolist() for name in STORED["maps"]],
        },
        "rates": [grammar_learning_rate(step) for step in STORED["moments"][1:]],
        "head": best_head(STORED, 0, 1),
        "grown": [grown(at) for at in moments if at],
    }


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
