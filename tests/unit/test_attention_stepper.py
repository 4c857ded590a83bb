"""The attention stepper's own mathematics: the weights in its words are those that torch computes."""

import re

import pytest
import torch

from transformer_edu import hand_example
from transformer_edu.book.figures import AttentionStepper

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
        for unreadable in (torch.eye(2).to_sparse(), torch.eye(2, device="meta"), torch.eye(2).to_mkldnn())
    ),
    (TypeError, "x must be a matrix of numbers", {"x": [[10**400, 0], [0, 1]]}),
    (ValueError, "w_o must have 4 rows, w_v's columns, got 1", {"w_o": [[1]]}),
]
PADDING = {"tokens": ["pad"], "x": [[1.0]], "w_q": [[1]], "w_k": [[1]], "w_v": [[1]], "w_o": [[1]], "mask": "padding"}
SAYS = [(PADDING, "0.000 to pad")]


@pytest.mark.parametrize(("scale", "mask"), [(True, "none"), (False, "none"), (True, "causal"), (True, "padding")])
def test_alt_text_gives_the_weights_that_torch_computes(scale, mask):
    hand = hand_example()
    scores = (hand.x @ hand.w_q) @ (hand.x @ hand.w_k).T / (2 if scale else 1)
    allowed = {"none": torch.ones(3, 3), "causal": torch.ones(3, 3).tril(), "padding": torch.tensor([1, 1, 0])}[mask]
    weights = scores.masked_fill(allowed.expand(3, 3) == 0, -torch.inf).softmax(-1)
    for query in range(3):
        alt = AttentionStepper(query=query, scale=scale, mask=mask).alt_text()
        shown = [float(number) for number in re.findall(r"(\d\.\d{3}) to", alt)]
        assert shown == pytest.approx(weights[query].tolist(), abs=5.01e-4)
