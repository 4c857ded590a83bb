"""When a model learns to copy what followed last time, which heads do it, and the best there is (chapter 18).

All measured on sequences that were never trained on: losses on those of `losses`, scores on rows of letters twice.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from experiments.processes import in_processes
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.induction import (
    BEGINS,
    LENGTH,
    LETTERS,
    LONGEST,
    SHORTEST,
    STEPS,
    TEST_SEED,
    TEST_SIZE,
    Copier,
    induction_scores,
    losses,
    sequences,
    train_copier,
    twice,
    without_head,
)
from transformer_edu.inspect.heads import offset_share
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.threads import one_thread

SEEDS = (0, 1, 2, 3, 4)
LONGER = 3  # times the steps of two layers, for one
WIDER = 44  # d_model of one layer with as many parameters as two of 32
MODELS: dict[str, dict[str, Any]] = {
    "two layers": {},
    "two layers, learned positions": {"positions": "learned"},
    "two layers of two heads": {"num_heads": 2},
    "one layer": {"num_layers": 1},
    "one layer, wider": {"num_layers": 1, "d_model": WIDER},
}
ROW = 12  # letters that stand twice where heads are scored
LEARNT = 1.5  # nats at repeated letters: below this we say that it copies; going by the distance alone gets to 1.7
UNIFORM = 1 / len(LETTERS)


def run_copier(name: str, seed: int, steps: int) -> dict[str, Any]:
    """Train one model of MODELS and look at each of its heads; names of heads are "layer.head", from 0.

    Returns:
        "repeated", "fresh": losses every 40th part of the training, the first before it. "learnt": the first of these
        steps at which "repeated" is below LEARNT, or None. "heads": of each, "induction" and "previous", its scores;
        "without" and "fresh_without": both losses with this head away.
    """
    every = max(1, steps // 40)
    with one_thread():
        model, curve = train_copier(seed=seed, steps=steps, every=every, **MODELS[name])
        heads = [_look(model, layer, head, scores) for (layer, head), scores in head_scores(model).items()]
    learnt = [int(point["step"]) for point in curve if point["repeated"] < LEARNT]
    return {
        "model": name,
        "seed": seed,
        "every": every,
        "learnt": learnt[0] if learnt else None,
        "heads": heads,
        **{kind: [round(point[kind], 3) for point in curve] for kind in ("repeated", "fresh")},
    }


@torch.no_grad()
def head_scores(model: Copier) -> dict[tuple[int, int], dict[str, float]]:
    """Induction and previous-token score of each head, on unseen rows of ROW letters that stand twice."""
    ids = twice(TEST_SIZE, ROW, torch.Generator().manual_seed(TEST_SEED))
    with record_attention(model) as maps:
        model(ids)
    return {
        (layer, head): {"induction": round(induction, 3), "previous": round(previous, 3)}
        for layer, weights in enumerate(maps.values())
        for head, (induction, previous) in enumerate(
            zip(induction_scores(weights, ids).tolist(), offset_share(weights, -1).mean(dim=0).tolist(), strict=True)
        )
    }


def _look(model: Copier, layer: int, head: int, scores: dict[str, float]) -> dict[str, Any]:
    with without_head(model, layer, head):
        away = losses(model)
    return {
        "head": f"{layer}.{head}",
        **scores,
        "without": round(away["repeated"], 3),
        "fresh_without": round(away["fresh"], 3),
    }


def best_losses(ids: Tensor) -> Tensor:
    """−ln p (batch, seq) of who knows how `sequences` draws, and weighs all copies that fit what was read."""
    batch = len(ids)
    idle = torch.ones(batch, dtype=torch.float64)
    copying = torch.zeros(batch, LENGTH, LONGEST + 1, dtype=torch.float64)  # by lag and by letters left
    found = [torch.full((batch,), math.log(len(LETTERS)), dtype=torch.float64)]
    for at in range(1, LENGTH):
        if at >= SHORTEST:
            begins = BEGINS * idle / (at - SHORTEST + 1) / (LONGEST - SHORTEST + 1)
            copying[:, SHORTEST : at + 1, SHORTEST:] += begins[:, None, None]
            idle = (1 - BEGINS) * idle
        lags = torch.arange(LENGTH)
        fits = (ids[:, (at - lags).clamp(min=0)] == ids[:, at : at + 1]) & (lags <= at)  # (batch, lag)
        copying, idle = copying * fits[:, :, None], idle * UNIFORM
        p = idle + copying.sum(dim=(1, 2))
        found.append(-p.log())
        copying, idle = copying / p[:, None, None], idle / p
        idle = idle + copying[:, :, 1].sum(dim=1)  # the last letter of a copy was read
        copying = torch.cat([copying[:, :, :1] * 0, copying[:, :, 2:], copying[:, :, :1] * 0], dim=2)
    return torch.stack(found, dim=1)


def distance_losses(ids: Tensor, test: Tensor, steps: int) -> Tensor:
    """−ln p (batch, seq) of who knows how likely a letter `lag` places back is to come, and not what stands there.

    For each place a mixture of the letters so far, weighed by their distance alone, and of all letters alike; its
    weights are fitted on `ids` with Adam. It is what attention can do without a look at the content.
    """
    back = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)  # (now, before)
    logits = torch.zeros(LENGTH, LENGTH + 1, requires_grad=True)  # the last one: all letters alike
    allowed = torch.cat([back > 0, torch.ones(LENGTH, 1, dtype=torch.bool)], dim=1)

    def fitted(rows: Tensor) -> Tensor:
        weights = logits.masked_fill(~allowed, -torch.inf).softmax(dim=-1)
        same = (rows[:, :, None] == rows[:, None, :]) & (back > 0)
        return -((weights[:, :-1] * same).sum(dim=-1) + weights[:, -1] * UNIFORM).log()

    optimizer = torch.optim.Adam([logits], lr=0.1)
    for _ in range(steps):
        loss = fitted(ids).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return fitted(test).detach()


def references(steps: int) -> dict[str, dict[str, float]]:
    """The losses, as in `losses`, of the best predictor there is and of one that goes by the distance alone."""
    ids, place = sequences(TEST_SIZE, torch.Generator().manual_seed(TEST_SEED))
    others = sequences(4 * TEST_SIZE, torch.Generator().manual_seed(TEST_SEED + 1))[0]
    place = place[:, 1:]
    return {
        name: {kind: round(float(found[:, 1:][where].mean()), 3) for kind, where in
               {"repeated": place > 1, "fresh": place == 0}.items()}
        for name, found in {"best": best_losses(ids), "distance": distance_losses(others, ids, steps)}.items()
    }  # fmt: skip


@experiment("induction")
def record_induction(
    seeds: Sequence[int] = SEEDS, steps: int = STEPS, fit: int = 300, processes: int = 2
) -> dict[str, Any]:
    """Copying in context: curves, scores and losses without each head, of every model from every seed (`runs`).

    About ten minutes of one thread. `references`: what can be had without learning. Losses are in nats.
    """
    jobs = [
        (name, seed, steps * (LONGER if options.get("num_layers") == 1 else 1))
        for name, options in MODELS.items()
        for seed in seeds
    ]
    return {
        "steps": steps,
        "longer": LONGER,
        "chance": round(math.log(len(LETTERS)), 3),
        "below": LEARNT,
        "parameters": {name: _parameters(**options) for name, options in MODELS.items()},
        "references": references(fit),
        "runs": in_processes(run_copier, jobs, processes),
    }


def _parameters(num_layers: int = 2, **options: Any) -> int:
    return sum(p.numel() for p in Copier(num_layers, **options).parameters())
