"""The norm cube's Python side: its example, and what moves under which norm."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from transformer_edu import hand_example
from transformer_edu.widgets import NormCube
from transformer_edu.widgets.norm_cube import BATCHES, NORMS

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
    (ValueError, "sentences must be 1 to 4", {"sentences": []}),
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
    (ValueError, "other must be one of None, 1, 2, got 0", {"other": 0}),
    (ValueError, "padding must be from 0 to 2, got 3", {"padding": 3}),
    (TypeError, "edits[0] must be [sentence, position, feature, value], got (0, 0)", {"edits": [(0, 0)]}),
    (ValueError, "edits[0], its sentence, must be from 0 to 2, got 3", {"edits": [(3, 0, 0, 1)]}),
    (ValueError, "edits[0], its position, must be from 0 to 2, got 3", {"edits": [(0, 3, 0, 1)]}),
    (TypeError, "edits[0], its value, must be a number from -1000 to 1000, got True", {"edits": [(0, 0, 0, True)]}),
    (TypeError, "selected must be three whole numbers", {"selected": (0, 0)}),
    (ValueError, "selected, its row, must be from 0 to 0, got 1", {"selected": (1, 0, 0), "other": None}),
]


def test_first_sentence_is_the_hand_example_and_scales_differ() -> None:
    sentences = NormCube().sentences
    assert sentences[0] == {"tokens": list(hand_example().tokens), "x": hand_example().x.tolist()}
    rows = torch.tensor(sentences[0]["x"] + sentences[1]["x"])
    deviations = rows.std(dim=0)
    assert deviations.max() > 3 * deviations.min()
    assert rows[3:].std() > 3 * rows[:3].std()


def test_default_edit_moves_one_token_of_layer_norm_and_every_token_of_batch_norm() -> None:
    figure = NormCube()
    assert [figure.moved(norm) for norm in NORMS] == [4, 6, 3]  # RMS norm leaves the fourth one, a zero, at zero
    assert "4 with layer norm, 6 with batch norm, 3 with RMS norm" in figure.alt_text()


def test_nothing_changed_moves_nothing() -> None:
    assert [NormCube(edits=[]).moved(norm) for norm in NORMS] == [0, 0, 0]
    with pytest.raises(ValueError, match="norm must be one of"):
        NormCube().moved("group")


@pytest.mark.parametrize("options", [{"padding": 1}, {"other": 2}, {"other": None}])
def test_padding_and_company_move_batch_norm_alone(options: dict[str, Any]) -> None:
    figure = NormCube(edits=[], **options)
    layer, batch, rms = (figure.moved(norm) for norm in NORMS)
    assert (layer, rms) == (0, 0)
    assert batch > 0


def test_left_out_padding_and_evaluation_move_nothing() -> None:
    assert NormCube(edits=[], padding=2, leave_out=True).moved("batch") == 0
    assert NormCube(edits=[], other=2, mode="evaluation").moved("batch") == 0
    assert NormCube(mode="evaluation").moved("batch") == 1


@pytest.mark.parametrize("batches", BATCHES)
def test_evaluation_uses_torchs_running_statistics(batches: int) -> None:
    figure = NormCube(mode="evaluation", batches=batches)
    x = torch.tensor([one["x"] for one in figure.sentences[:2]], dtype=torch.float64)
    norm = nn.BatchNorm1d(4, dtype=torch.float64)
    for _ in range(batches):
        norm(x.flatten(0, 1))
    for mine, torchs in zip(figure._running(), (norm.running_mean, norm.running_var), strict=True):
        torch.testing.assert_close(mine, torchs)


def test_own_sentences_may_be_tensors_and_start_unedited() -> None:
    figure = NormCube([one | {"x": torch.tensor(one["x"])} for one in TWO])
    assert figure.sentences == TWO
    assert (figure.edits, figure.selected) == ([], [0, 0, 0])
    assert NormCube(TWO[:1], other=None).other is None
