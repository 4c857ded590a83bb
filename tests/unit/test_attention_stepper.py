"""The attention stepper's own mathematics: the weights in its words are those that torch computes."""

import re

import pytest
import torch

from transformer_edu import hand_example
from transformer_edu.book.figures import AttentionStepper
from transformer_edu.book.figures.attention_stepper import MASKS

INPUTS = ("x", "w_q", "w_k", "w_v", "w_o")
EXAMPLE = {"tokens": ["a", "b", "c"], "step": 2, "part": "k", "query": 0, "key": 2, "scale": False, "mask": "causal"}
BAD = [
    (ValueError, "x must have one row for each of the 2 tokens, got 3", {"tokens": ["the", "cat"]}),
    (TypeError, "x must be a matrix of numbers", {"x": [1, 2, 3]}),
    (ValueError, "x must have 1 to 8 rows of one length", {"x": [[1, 2], [1], [1, 2]]}),
    (ValueError, "x must hold finite numbers, got nan", {"x": [[float("nan")] * 4] * 3}),
    (ValueError, "w_q must have 4 rows, x's columns, got 2", {"w_q": [[1, 2], [3, 4]]}),
    (ValueError, "w_k must have 4 columns, as many as w_q, got 1", {"w_k": [[1]] * 4}),
    *(
        (TypeError, "x must be a list or a dense tensor whose numbers can be read, got Tensor", {"x": unreadable})
        for unreadable in (torch.eye(2).to_sparse(), torch.empty(2, 2, device="meta"), torch.eye(2).to_mkldnn())
    ),
    (TypeError, "x must be a matrix of numbers", {"x": [[10**400, 0], [0, 1]]}),
    (ValueError, "w_o must have 4 rows, w_v's columns, got 1", {"w_o": [[1]]}),
]
PADDING = {"tokens": ["pad"], "x": [[1.0]], "w_q": [[1]], "w_k": [[1]], "w_v": [[1]], "w_o": [[1]], "mask": "padding"}
SAYS = [(PADDING, "0.000 to pad")]


SCENES = {
    "a clicked score is written out": [
        {"step": 2},
        "> click [data-matrix=scores] [data-row='2'][data-column='1']",
        "with that key is 8. … 1×0=0 … 1×2=2 … 0×(−1)=0 … 2×3=6 … sum8",
        "> click [data-matrix=scores] [data-row='1'][data-column='2']",
        "~ Step 2 of 7, Scores. black asks cat",
    ],
    "what is chosen in a step is said there": [
        {"step": 1},
        "> click .te-parts [data-value=v]",
        "WV is its value, what it hands over: (0, 1, 2, 0).",
        "> tab Step 3; checkbox divide by = off",
        "Not divided … stays 8. … the4÷ 1=4",
        "> tab Step 4; combobox mask = last is padding; click [data-matrix=masked] [data-row='2'][data-column='2']",
        "hides what is no word … itself is padding: its score becomes −∞ … cat4+ (−∞)=−∞",
    ],
    "the first Play begins at step 1, whoever looks, and goes on where it was paused": [
        "> radio black; button Play",
        "Every token gets a query, a key and a value",
        "> button Pause; tab Step 5; button Play",
        "What black receives is mostly the value of cat",
    ],
}


def head(*, scale=True, mask="none", **given):
    """Every matrix of a head, computed by torch in float64; what is not given is the hand example's."""
    own = {name: given.get(name, getattr(hand_example(), name)).double() for name in INPUTS}
    q, k, v = (own["x"] @ own[name] for name in ("w_q", "w_k", "w_v"))
    everyone = torch.ones(len(q), len(q))
    hidden = {"none": everyone * 0, "causal": everyone.triu(1), "padding": everyone.cumsum(1) == len(q)}[mask]
    scores = q @ k.T
    scaled = scores / k.shape[1] ** 0.5 if scale else scores
    masked = scaled.masked_fill(hidden.bool(), -torch.inf)
    weights = masked.softmax(-1)
    own |= {"q": q, "k": k, "k_t": k.T, "v": v, "mix": weights @ v, "output": weights @ v @ own["w_o"]}
    return own | {"scores": scores, "scaled": scaled, "masked": masked, "weights": weights}


def numbers():
    """Heads of the hand example and of another shape, with each mask, divided or not; −10⁹ for −∞, which JSON lacks."""
    made = torch.Generator().manual_seed(0)
    shapes = zip(INPUTS, [(5, 3), (3, 2), (3, 2), (3, 4), (4, 6)], strict=True)
    own = {name: torch.randn(shape, generator=made) for name, shape in shapes}
    settings = [{"scale": scale, "mask": mask} for scale in (True, False) for mask in MASKS]
    return [
        setting | {name: matrix.clamp(min=-1e9).tolist() for name, matrix in head(**setting, **given).items()}
        for given in ({}, own)
        for setting in settings
    ]


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("mask", MASKS)
def test_alt_text_gives_the_weights_that_torch_computes(scale, mask):
    for query in range(3):
        alt = AttentionStepper(query=query, scale=scale, mask=mask).alt_text()
        shown = [float(number) for number in re.findall(r"(\d\.\d{3}) to", alt)]
        assert shown == pytest.approx(head(scale=scale, mask=mask)["weights"][query].tolist(), abs=5.01e-4)
