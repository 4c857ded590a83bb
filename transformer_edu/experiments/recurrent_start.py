"""Is it recurrence that forgets, or PyTorch's start? A plain recurrent network with an orthogonal one (chapter 2).

The task is that of `long_range`: name the first of `DISTANCE` + 1 random tokens. The network is its "RNN", and only
the matrix that carries the state on differs: PyTorch draws it uniformly within ±1/√hidden, which shrinks a state by
about 0.58 a step; an orthogonal matrix keeps its length.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.experiments import experiment
from transformer_edu.experiments.long_range import (
    BATCH_SIZE,
    LEARNT,
    SEEDS,
    STEPS,
    Outcome,
    accuracy,
    new_contender,
    sequences,
)
from transformer_edu.support.validation import check_choice, check_number, check_positive_integer

DISTANCE = 32  # tokens
STARTS = ("PyTorch", "orthogonal")
RATES = (0.001, 0.003, 0.01)
PATIENT_RATE = 0.003
PATIENT_STEPS = 3000  # at most


def new_recurrent(start: str, seed: int = 0) -> nn.Module:
    """An untrained "RNN" of `long_range`; `start` says where the matrix from state to state begins."""
    check_choice("start", start, STARTS)
    model = new_contender("RNN", seed)
    if start == "orthogonal":
        nn.init.orthogonal_(model.get_parameter("cell.weight_hh_l0"), generator=torch.Generator().manual_seed(seed))
    return model


def train_recurrent(start: str, learning_rate: float, seed: int = 0, steps: int = STEPS) -> Outcome:
    """Train one network at `DISTANCE`, as `train_contender` does, for at most `steps` steps."""
    check_number("learning_rate", learning_rate)
    check_positive_integer("steps", steps)
    model, generator = new_recurrent(start, seed), torch.Generator().manual_seed(seed)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=learning_rate), []
    for _ in range(steps):
        ids, answer = sequences(BATCH_SIZE, DISTANCE, generator)
        loss = F.cross_entropy(model(ids), answer)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if len(losses) >= 10 and sum(losses[-10:]) < 10 * LEARNT:
            break
    return Outcome(model.eval(), accuracy(model, DISTANCE), len(losses))


@experiment("recurrent-start")
def record_recurrent_start(
    seeds: Sequence[int] = SEEDS,
    rates: Sequence[float] = RATES,
    steps: int = STEPS,
    patient_steps: int = PATIENT_STEPS,
) -> dict[str, Any]:
    """What the plain recurrent network scores from either start at three rates; `patient`: with more steps."""

    def run(start: str, rate: float, seed: int, most: int) -> dict[str, Any]:
        outcome = train_recurrent(start, rate, seed, most)
        found = {"accuracy": round(outcome.accuracy, 4), "steps": outcome.steps}
        return {"start": start, "rate": rate, "seed": seed, **found}

    return {
        "distance": DISTANCE,
        "most_steps": steps,
        "patient_most_steps": patient_steps,
        "runs": [run(start, rate, seed, steps) for start in STARTS for rate in rates for seed in seeds],
        "patient": [run(start, PATIENT_RATE, seed, patient_steps) for start in STARTS for seed in seeds],
    }
