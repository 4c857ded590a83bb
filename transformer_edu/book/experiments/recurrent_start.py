"""Is it recurrence that forgets, or PyTorch's start? A plain recurrent network with an orthogonal one (chapter 2).

The task is that of `long_range`: name the first of `DISTANCE` + 1 random tokens. The network is its "RNN", and only
the matrix that carries the state on differs: PyTorch draws it uniformly within ±1/√hidden, which shrinks a state by
about 0.58 a step; an orthogonal matrix keeps its length.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.long_range import SEEDS, STEPS, new_contender, train_model
from transformer_edu.support.validation import check_choice

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


@experiment("recurrent-start")
def record_recurrent_start(
    seeds: Sequence[int] = SEEDS,
    rates: Sequence[float] = RATES,
    steps: int = STEPS,
    patient_steps: int = PATIENT_STEPS,
) -> dict[str, Any]:
    """What the plain recurrent network scores from either start at three rates; `patient`: with more steps."""

    def run(start: str, rate: float, seed: int, most: int) -> dict[str, Any]:
        outcome = train_model(new_recurrent(start, seed), DISTANCE, seed, most, rate)
        found = {"accuracy": round(outcome.accuracy, 4), "steps": outcome.steps}
        return {"start": start, "rate": rate, "seed": seed, **found}

    return {
        "distance": DISTANCE,
        "most_steps": steps,
        "patient_most_steps": patient_steps,
        "runs": [run(start, rate, seed, steps) for start in STARTS for rate in rates for seed in seeds],
        "patient": [run(start, PATIENT_RATE, seed, patient_steps) for start in STARTS for seed in seeds],
    }
