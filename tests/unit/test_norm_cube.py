"""The norm cube's Python side: its example, and what moves under which norm."""

import math

import pytest
import torch

from transformer_edu import hand_example
from transformer_edu.book.figures import NormCube
from transformer_edu.book.figures.norm_cube import NORMS

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
    figure = NormCube([one | {"x": torch.tensor(one["x"])} for one in TWO])
    assert figure.sentences == TWO
    assert (figure.edits, figure.selected) == ([], [0, 0, 0])
    assert NormCube(TWO[:1], other=None).other is None
