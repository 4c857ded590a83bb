"""The reward as a Python object: the language it tilts, and that no other distribution is better."""

import math

import pytest
import torch

from transformer_edu.book.figures import Reward
from transformer_edu.book.figures.reward import BETAS, REWARDS, points, sentences, tilted

EXAMPLE = {"reward": "each word", "beta": 0.25}
BAD = [
    (ValueError, "reward must be", {"reward": "cat"}),
    (ValueError, "beta must be", {"beta": 0.0}),
]
SAYS = [
    (
        {},
        "before and after “dog” is rewarded, at β = 1: the mean reward goes from 0.22 to 0.43, and the likeliest "
        "sentence is “a dog sleeps” with 0.19.",
    ),
    ({"reward": "each word", "beta": 0.25}, "goes from 2.84 to 4.86"),
]
SCENES = {
    "a lower price lets the reward have its way": [
        "It says “dog” in 43.5 % of its sentences, 22.1 % before",
        "With β = 1 the language is 0.11 nats from what it was. 13 of its 24 sentences hold nine tenths, before 11",
        "> slider β, the price of moving away = -2",
        "It says “dog” in 93.9 % of its sentences, 22.1 % before",
        "1.21 nats … The likeliest is now “a dog sleeps”, 0.42.",
        "Yes. Nats away: never more than",
    ],
    "what is rare is dear, and what counts words is gamed": [
        "> radio black dog; slider β, the price of moving away = -3",
        "It says “black dog” in 99.5 % of its sentences, 6.5 % before",
        "2.70 nats",
        "> radio each word; slider β, the price of moving away = -2",
        "It says 4.9 words a sentence, 2.8 before",
        "The likeliest is now “the cat black cat sleeps”, 0.68.",
    ],
    "questions are answered by looking": [
        "> slider β, the price of moving away = -2",
        "Yes. Nats away",
        "> button Another question; radio black dog; slider β, the price of moving away = -3",
        "Yes. What it hardly said before is far away.",
        "> button Another question; radio each word",
        "Yes. It asked for words",
    ],
}


def numbers():
    """The language, and what each reward makes of it."""
    rows = [[reward, beta, tilted(reward, beta)] for reward in REWARDS for beta in BETAS]
    return {"language": Reward().language, "rows": rows}


def test_the_sentences_are_all_that_there_are():
    found = list(sentences())
    assert len({text for text, _ in found}) == len(found) == 24
    assert math.isclose(sum(probability for _, probability in found), 1.0)


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("beta", [0.25, 2.0])
def test_no_other_distribution_has_more_reward_for_its_distance(reward, beta):
    was = torch.tensor([probability for _, probability in sentences()], dtype=torch.float64)
    paid = torch.tensor([float(points(text, reward)) for text, _ in sentences()], dtype=torch.float64)

    def worth(p):
        return (p * (paid - beta * (p / was).log())).sum(-1)

    best = torch.tensor(tilted(reward, beta), dtype=torch.float64)
    others = torch.softmax(best.log() + torch.randn(500, 24, dtype=torch.float64), dim=-1)
    assert worth(best) > worth(others).max()
    assert torch.isclose(worth(best), beta * (was * (paid / beta).exp()).sum().log())  # β ln Z
