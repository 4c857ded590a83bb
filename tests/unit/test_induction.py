"""The figure of copying in context: its letters, its weights, its words against the model."""

import re

import pytest
import torch

from transformer_edu.book.experiments.copier import load_copier
from transformer_edu.book.experiments.induction import LETTERS
from transformer_edu.book.figures import Induction
from transformer_edu.book.figures.induction import copier_on, weights_of_copier

EXAMPLE = {"text": "abcde abc", "token": 6, "without": [0]}
BAD = [
    (ValueError, "text must be 2 to 24 letters from a to z, got 'a b 3'", {"text": "a b 3"}),
    (ValueError, "text must be 2 to 24 letters from a to z", {"text": "a" * 25}),
    (ValueError, "token must be from 0 to 7, got 8", {"token": 8}),
    (ValueError, "without must be from 0 to 1, got 2", {"without": [2]}),
    (TypeError, "without must be a list of layers", {"without": "0"}),
]
SAYS = [
    ({"text": "abab"}, "here a b a b", "a, which followed b last time"),
    ({"without": [0, 1]}, "without the head of layer 1 and of layer 2"),
    ({"token": 0}, "after letter 1, m."),
]


def numbers():
    """The copier's probabilities and weights on three rows of letters, with and without its heads."""
    passes = []
    for letters in ("mrxdtmrx", "aa", "abcdefghijklmnopqrstuvwx"):
        for without in ([], [0], [1], [0, 1]):
            p, maps = copier_on(letters, without)
            found = {"p": p.tolist(), "maps": [weights.tolist() for weights in maps]}
            passes.append({"letters": letters, "without": without} | found)
    return {"weights": weights_of_copier(), "passes": passes}


def test_alt_text_says_the_models_numbers():
    with torch.no_grad():
        p = load_copier()(torch.tensor([[LETTERS.index(letter) for letter in "mrxdtmrx"]]))[0, -1].softmax(dim=-1)
    said = [float(number) for number in re.findall(r"\d\.\d\d", Induction().alt_text())]
    assert said[1:] == pytest.approx([p.max().item(), p[LETTERS.index("d")].item()], abs=5.1e-3)


def test_state_carries_the_weights_in_less_than_60_kilobytes():
    assert len(Induction().weights) < 60_000
    assert Induction(without=[1, 0, 1]).without == [0, 1]
