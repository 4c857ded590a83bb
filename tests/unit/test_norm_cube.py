"""The norm cube's Python side: its example, what moves under which norm, and PyTorch's numbers for its page."""

import math
from itertools import product

import pytest
import torch
from torch import nn

from transformer_edu import hand_example
from transformer_edu.book.figures import NormCube
from transformer_edu.book.figures.norm_cube import NORMS, _padded

TWO = [{"tokens": ["a", "b"], "x": [[1.0, 2.0], [3.0, 5.0]]}, {"tokens": ["c", "d"], "x": [[10.0, 0.0], [7.0, 1.0]]}]
EXAMPLE = {
    "norm": "layer",
    "other": 2,
    "padding": 1,
    "leave_out": True,
    "edits": [(0, 1, 2, -3)],
    "selected": (1, 4, 0),
}
BAD = [
    (TypeError, "sentences[0] must be a dict with 'tokens' and 'x', got 3", {"sentences": [3]}),
    (TypeError, "sentences[0]['tokens'] must be a list", {"sentences": [{"tokens": "ab", "x": [[1, 2]]}]}),
    (ValueError, "must be 2 to 4 strings, got 1", {"sentences": [{"tokens": ["a"], "x": [[1, 2]]}]}),
    (TypeError, "sentences[0]['x'] must be a matrix of numbers", {"sentences": [TWO[0] | {"x": 3}]}),
    (ValueError, "must have a row for each of the 2 tokens, got 1", {"sentences": [TWO[0] | {"x": [[1, 2]]}]}),
    (
        ValueError,
        "['x'] must hold numbers from -1000 to 1000",
        {"sentences": [TWO[0] | {"x": [[1, 2], [math.nan, 2]]}]},
    ),
    (ValueError, "same 2 to 6 features, got [2, 3]", {"sentences": [TWO[0], TWO[1] | {"x": [[1, 2, 3]] * 2}]}),
    (TypeError, "edits[0] must be [sentence, position, feature, value], got (0, 0)", {"edits": [(0, 0)]}),
    (ValueError, "edits[0], its sentence, must be from 0 to 2, got 3", {"edits": [(3, 0, 0, 1)]}),
    (TypeError, "edits[0], its value, must be a number from -1000 to 1000, got True", {"edits": [(0, 0, 0, True)]}),
    (ValueError, "selected, its row, must be from 0 to 0, got 1", {"selected": (1, 0, 0), "other": None}),
]

SCENES = {
    "who shares with whom": [
        "Batch norm: one number changed, all 6 words moved, in both sentences",
        "only “small” moved … all 6 words moved … only “small” moved",
        "small, feature 2, went from 6 to 12. 6 outputs moved, each in feature 2.",
        "> click .te-details summary; combobox batch norm in = evaluation",
        "Batch norm in evaluation: one number changed, only “small” moved",
        "> radio layer norm; click [data-matrix=output-0] [data-row='2'][data-column='3']",
        "Layer norm: one number changed, only “small” moved … 4 outputs moved.",
        "cat, feature 4: shares its mean and variance with the 4 numbers of its own token",
    ],
    "padding is averaged in by batch norm alone, until it is left out": [
        {"edits": []},
        "nothing changed, no word moved … No output moved.",
        "> click .te-details summary; button Add padding; button Add padding",
        "nobody changed a word, and yet all 6 words moved, in both sentences",
        "no word moved … all 6 words moved … no word moved … 2 positions of padding added. 24 outputs moved.",
        "all 10 positions, 4 of them padding",
        "> checkbox leave padding out = on",
        "No output moved.",
        "> button Remove padding; button Remove padding; combobox sentence 2 = 2",
        "Sentence 2 is another one. Sentence 1 gets 1 position of padding.",
        "> combobox sentence 2 = null",
        "Sentence 1 is alone in its batch.",
    ],
}


def normed(figure, x, real):
    """What torch.nn's modules make of x, and batch norm's running statistics if it takes them."""
    if figure.norm != "batch":
        module = nn.LayerNorm if figure.norm == "layer" else nn.RMSNorm
        return module(4, eps=1e-5, dtype=torch.float64)(x), None
    module = nn.BatchNorm1d(4, eps=1e-5, dtype=torch.float64)
    if figure.mode == "evaluation":
        for _ in range(figure.batches):
            module(_padded(figure.sentences[:2], 0, [])[0].flatten(0, 1))
        module.eval()
    counted = real if figure.leave_out else torch.ones_like(real)
    y = torch.zeros_like(x)
    y[counted] = module(x[counted])
    stored = [module.running_mean, module.running_var] if figure.mode == "evaluation" else None
    return y, stored


def numbers():
    """Each norm's outputs, in training and evaluation, for batches of one and two, with padding and with edits."""
    found = []
    edits = (None, [], [(0, 0, 0, -3), (2, 3, 3, 7)])
    batches = [("training", 1), *(("evaluation", count) for count in (1, 10, 100))]
    ways = [("layer", "training", 1), ("rms", "training", 1), *(("batch", *batch) for batch in batches)]
    for (norm, mode, count), other, padding, skip, changes in product(ways, (1, 2, None), (0, 1), (False, True), edits):
        own = {"norm": norm, "mode": mode, "batches": count, "leave_out": skip}
        figure = NormCube(**own, other=other, padding=padding, edits=changes)
        x, real = _padded(figure._shown(), padding, figure.edits, other)
        y, stored = normed(figure, x, real)
        moved = [figure.moved(kind) for kind in NORMS]
        found.append({"state": figure.state(), "x": x.tolist(), "y": y.tolist(), "moved": moved})
        found[-1]["stored"] = stored and [statistic[figure.selected[2]].item() for statistic in stored]
    return found


def test_first_sentence_is_the_hand_example():
    hand = hand_example()
    assert NormCube().sentences[0] == {"tokens": list(hand.tokens), "x": hand.x.tolist()}


@pytest.mark.parametrize(
    ("options", "moved"),
    [
        ({}, (4, 6, 3)),  # one token, every token, and of one token all but the fourth number, a zero
        ({"edits": []}, (0, 0, 0)),
        ({"edits": [], "padding": 1}, (0, 24, 0)),
        ({"edits": [], "other": 2}, (0, 12, 0)),
        ({"edits": [], "other": None}, (0, 12, 0)),
        ({"edits": [], "padding": 2, "leave_out": True}, (0, 0, 0)),
        ({"edits": [], "other": 2, "mode": "evaluation"}, (0, 0, 0)),
        ({"mode": "evaluation"}, (4, 1, 3)),
    ],
)
def test_an_edit_moves_its_token_and_only_batch_norm_moves_others(options, moved):
    figure = NormCube(**options)
    assert tuple(figure.moved(norm) for norm in NORMS) == moved
    assert "{} with layer norm, {} with batch norm, {} with RMS norm".format(*moved) in figure.alt_text()


def test_own_sentences_may_be_tensors_and_start_unedited():
    figure = NormCube([sentence | {"x": torch.tensor(sentence["x"])} for sentence in TWO])
    assert figure.sentences == TWO
    assert (figure.edits, figure.selected) == ([], [0, 0, 0])
    assert NormCube(TWO[:1], other=None).other is None
