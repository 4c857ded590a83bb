"""The softmax lab's Python side: its draws and its alt text."""

import math
import re

import pytest
import torch

from transformer_edu.book.figures import SoftmaxLab
from transformer_edu.book.figures.softmax_lab_data import DRAWS

EXAMPLE = {"scores": [0.0, 1.0], "d_k": 256, "temperature": 2}
BAD = [
    (ValueError, "scores must be 2 to 8 numbers, got 1", {"scores": [1.0]}),
    (ValueError, "scores must be finite", {"scores": [0.0, math.inf]}),
]


@pytest.mark.parametrize(("d_k", "temperature"), [(4, 1.0), (64, 1.0), (1024, 10.0)])
def test_alt_text_says_torchs_numbers(d_k, temperature):
    scores = torch.tensor(DRAWS[0], dtype=torch.float64)
    expected = []
    for factor in (math.sqrt(d_k), 1.0):
        logits = scores * factor / temperature
        jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=0), logits)
        expected += [logits.softmax(dim=0).max().item(), jacobian.norm().item()]
    said = re.findall(r"\d\.\d{3,4}", SoftmaxLab(d_k=d_k, temperature=temperature).alt_text())
    assert [float(number) for number in said] == pytest.approx(expected, abs=6e-4)


def test_tensors_and_other_lengths_are_taken():
    figure = SoftmaxLab(torch.tensor([0.0, 1.0, 2.0]))
    assert figure.scores == [0.0, 1.0, 2.0]
    assert {len(draw) for draw in figure.draws} == {3}
    assert SoftmaxLab(range(8)).draws == [list(range(8))]
