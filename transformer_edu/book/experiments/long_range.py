"""Remember a token across a distance: recurrence, convolution and self-attention at one budget (chapter 2).

A sequence holds `distance` + 1 random tokens; at the last place the model is asked for the first one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.long_range_models import (
    MAX_LEN,
    VOCAB_SIZE,
    Convolution,
    Recurrent,
    SelfAttention,
)
from transformer_edu.support.seeds import seeded
from transformer_edu.support.shapes import Int, Tensor
from transformer_edu.support.validation import check_choice, check_number, check_positive_integer

__all__ = [
    "CONTENDERS",
    "DISTANCES",
    "MAX_LEN",
    "VOCAB_SIZE",
    "Contender",
    "Convolution",
    "Outcome",
    "Recurrent",
    "SelfAttention",
    "accuracy",
    "commonest_token_accuracy",
    "new_contender",
    "record_long_range",
    "sequences",
    "train_contender",
]

SEEDS = (0, 1, 2)
DISTANCES = (2, 4, 8, 16, 32, 64, 128)  # tokens
STEPS = 600  # at most: a model that has learnt the task stops earlier
BATCH_SIZE = 64
LEARNT = 0.01  # nats: training stops when the mean loss of ten steps is below this
TEST_SIZE = 1000  # new sequences on which a trained model is scored
TEST_SEED = 1_000_000  # of these, for every model alike
PATIENT = ("RNN", "GRU")  # what do these two learn at one distance if they are given more steps?
PATIENT_DISTANCE = 32  # tokens
PATIENT_STEPS = 3000  # at most


@dataclass(frozen=True)
class Contender:
    """How to build a model, and the best of the learning rates 0.001, 0.003 and 0.01 for it."""

    build: Callable[[], nn.Module]
    learning_rate: float


CONTENDERS = {  # between 9,064 and 9,296 parameters each
    "RNN": Contender(lambda: Recurrent(nn.RNN, 32, 76), 0.01),
    "GRU": Contender(lambda: Recurrent(nn.GRU, 32, 39), 0.01),
    "convolution": Contender(lambda: Convolution(27, (1, 1, 1, 1)), 0.003),
    "dilated convolution": Contender(lambda: Convolution(22, (1, 2, 4, 8, 16, 32)), 0.003),
    "self-attention": Contender(lambda: SelfAttention(32, 4, 64), 0.003),
}


@dataclass(frozen=True)
class Outcome:
    """A trained model, its share of right answers on 1,000 new sequences (0 .. 1), and the steps it took."""

    model: nn.Module
    accuracy: float
    steps: int


def new_contender(name: str, seed: int = 0) -> nn.Module:
    """An untrained model; its weights depend on `seed` alone."""
    check_choice("name", name, tuple(CONTENDERS))
    with seeded(seed):
        return CONTENDERS[name].build()


def sequences(
    count: int, distance: int, generator: torch.Generator
) -> tuple[Int[Tensor, "batch seq"], Int[Tensor, "batch"]]:
    """Random ids (count, distance + 1), and the answer to each: its first id."""
    check_positive_integer("count", count)
    check_positive_integer("distance", distance)
    if distance >= MAX_LEN:
        raise ValueError(f"distance must be below {MAX_LEN}, the rows of the positional table, got {distance}")
    ids = torch.randint(VOCAB_SIZE, (count, distance + 1), generator=generator)
    return ids, ids[:, 0]


def train_contender(
    name: str, distance: int, seed: int = 0, steps: int = STEPS, learning_rate: float | None = None
) -> Outcome:
    """Train one model at one distance, for at most `steps` steps with Adam. `seed` decides weights and sequences.

    `learning_rate` None takes the contender's own.
    """
    model = new_contender(name, seed)
    rate = CONTENDERS[name].learning_rate if learning_rate is None else learning_rate
    return train_model(model, distance, seed, steps, rate)


def train_model(model: nn.Module, distance: int, seed: int, steps: int, learning_rate: float) -> Outcome:
    """Train any model of ids at one distance, until it has learnt or for `steps` steps; `seed` draws the sequences."""
    check_positive_integer("steps", steps)
    check_number("learning_rate", learning_rate)
    generator = torch.Generator().manual_seed(seed)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=learning_rate), []
    for _ in range(steps):
        ids, answer = sequences(BATCH_SIZE, distance, generator)
        loss = F.cross_entropy(model(ids), answer)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if len(losses) >= 10 and sum(losses[-10:]) < 10 * LEARNT:
            break
    return Outcome(model.eval(), accuracy(model, distance), len(losses))


@torch.no_grad()
def accuracy(model: nn.Module, distance: int, count: int = TEST_SIZE) -> float:
    """The share of right answers, 0 .. 1, on `count` sequences that are the same for every model."""
    ids, answer = sequences(count, distance, torch.Generator().manual_seed(TEST_SEED))
    return float((model(ids).argmax(dim=-1) == answer).float().mean())


def commonest_token_accuracy(distance: int) -> float:
    """The share of right answers, 0 .. 1, of naming each row's commonest token (of equals, the smallest id).

    A model that knows which tokens occur, but not where, gets no further. The sequences are those of `accuracy`.
    """
    ids, answer = sequences(TEST_SIZE, distance, torch.Generator().manual_seed(TEST_SEED))
    counts = F.one_hot(ids, VOCAB_SIZE).sum(dim=1)  # (batch, vocab)
    return float((counts.argmax(dim=-1) == answer).float().mean())  # argmax: the first of equals


def _run(name: str, distance: int, seed: int, steps: int) -> dict[str, Any]:
    outcome = train_contender(name, distance, seed, steps)
    run = {"model": name, "distance": distance, "seed": seed}
    return {**run, "accuracy": round(outcome.accuracy, 4), "steps": outcome.steps}


@experiment("long-range")
def record_long_range(
    seeds: Sequence[int] = SEEDS,
    distances: Sequence[int] = DISTANCES,
    steps: int = STEPS,
    patient_steps: int = PATIENT_STEPS,
) -> dict[str, Any]:
    """What every contender scores at every distance from every seed, after how many steps (`runs`). About six minutes.

    `patient`: the recurrent ones at one distance with more steps; `commonest`: `commonest_token_accuracy`.
    """
    commonest = [{"distance": d, "accuracy": round(commonest_token_accuracy(d), 4)} for d in distances]
    return {
        "vocab_size": VOCAB_SIZE,
        "most_steps": steps,
        "patient_most_steps": patient_steps,
        "parameters": {name: sum(p.numel() for p in new_contender(name).parameters()) for name in CONTENDERS},
        "commonest": commonest,
        "runs": [_run(name, d, seed, steps) for name in CONTENDERS for d in distances for seed in seeds],
        "patient": [_run(name, PATIENT_DISTANCE, seed, patient_steps) for name in PATIENT for seed in seeds],
    }
