"""The softmax lab's Python side: its draws and its alt text, and autograd's numbers for its page."""

import math
import re

import pytest
import torch

from transformer_edu.book.figures import SoftmaxLab
from transformer_edu.book.figures.softmax_lab import DRAWS, SIZES

EXAMPLE = {"scores": [0.0, 1.0], "d_k": 256, "temperature": 2}
BAD = [
    (ValueError, "scores must be 2 to 8 numbers, got 1", {"scores": [1.0]}),
    (ValueError, "scores must be finite", {"scores": [0.0, math.inf]}),
]
SCENES = {
    "the gradient dies on one side only, and what it was stays beside it": [
        "Undivided, one key wins and hardly any gradient passes … √64 = 8 times",
        "! was ",
        "> slider length of a key = 9; slider length of a key = 10",
        "▸ beyond 16 … was 0.017 … One key takes all: … −16 to 16 … The softmax still answers. … √1024 = 32 times",
        "~ d k 1024, temperature 1.00. undivided: largest share 1.000, gradient 9.",
        "> click .te-details summary; slider temperature = 1",
        "Nearly equal shares: no choice. … at temperature 10.00",
        "> slider temperature = -1",
        "So cold that one key wins on both sides",
    ],
}


def sides(scores, d_k, temperature):
    """Undivided and divided: scores, weights, all derivatives and their norm, by autograd."""
    for factor in (math.sqrt(d_k), 1.0):
        logits = torch.tensor(scores, dtype=torch.float64) * factor / temperature
        slopes = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=0), logits)
        yield logits.tolist(), logits.softmax(dim=0).tolist(), slopes.tolist(), slopes.norm().item()


def numbers():
    """Rows of two to eight scores, with every length of a key, cold and hot."""
    rows = (*DRAWS, (0.0, 1.0), (100.0, -100.0, 3.0), (0.1, -1.0, 2.0, 0.4, -0.3, 1.0, -2.0, 0.7))
    return [
        {"scores": row, "draws": DRAWS, "d_k": d_k, "temperature": heat, "sides": list(sides(row, d_k, heat))}
        for row in rows
        for d_k in SIZES
        for heat in (0.1, 1.0, 10.0)
    ]


@pytest.mark.parametrize(("d_k", "temperature"), [(4, 1.0), (64, 1.0), (1024, 10.0)])
def test_alt_text_says_torchs_numbers(d_k, temperature):
    answers = sides(DRAWS[0], d_k, temperature)
    expected = [number for _, weights, _, size in answers for number in (max(weights), size)]
    said = re.findall(r"\d\.\d{3,4}", SoftmaxLab(d_k=d_k, temperature=temperature).alt_text())
    assert [float(number) for number in said] == pytest.approx(expected, abs=6e-4)


def test_tensors_and_other_lengths_are_taken():
    figure = SoftmaxLab(torch.tensor([0.0, 1.0, 2.0]))
    assert figure.scores == [0.0, 1.0, 2.0]
    assert {len(draw) for draw in figure.draws} == {3}
    assert SoftmaxLab(range(8)).draws == [list(range(8))]
