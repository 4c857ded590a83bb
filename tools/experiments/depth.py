"""How deep can a stack be, and does it need a warm-up? Encoders that learn to sort (chapter 8).

A sequence holds eight random ids; at each place the model is asked for the id that stands there after sorting.
Measured for post-norm and pre-norm, and for post-norm without the residual, at two learning rates, with a linear
warm-up and without.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.removed_parts import NoResidual, take_out
from transformer_edu.config import build_encoder_layer
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder
from transformer_edu.normalization import LayerNorm
from transformer_edu.positional import PositionalEncoding
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.initialization import xavier_initialize
from transformer_edu.support.seeds import seeded
from transformer_edu.support.shapes import Int, Tensor
from transformer_edu.support.validation import check_choice, check_number, check_positive_integer

VOCAB_SIZE = 8  # knowing nothing costs ln 8 = 2.08 nats
LENGTH = 8
D_MODEL, NUM_HEADS, D_FF = 32, 4, 64
BATCH_SIZE = 64
STEPS = 300
WARMUP_STEPS = 100
DEPTHS = (2, 6, 12)
RATES = (0.001, 0.003)
SEEDS = (0, 1, 2)
PLACEMENTS = ("post", "pre", "no residual")


def new_sorter(placement: str, num_layers: int, seed: int = 0) -> nn.Sequential:
    """An untrained encoder that gives each place a score for each id; its weights depend on `seed` alone.

    Args:
        placement: "post" or "pre", where the norm stands; or "no residual": post-norm without the residual connection.
        num_layers: layers of the encoder.
        seed: of the weights, Xavier-uniform as in `build_transformer`.
    """
    check_choice("placement", placement, PLACEMENTS)
    check_positive_integer("num_layers", num_layers)
    pre = placement == "pre"
    with seeded(seed):
        layers = [
            build_encoder_layer(D_MODEL, NUM_HEADS, D_FF, norm="pre" if pre else "post") for _ in range(num_layers)
        ]
        model = nn.Sequential(
            InputEmbedding(VOCAB_SIZE, D_MODEL),
            PositionalEncoding(D_MODEL, max_len=LENGTH),
            Encoder(layers, LayerNorm(D_MODEL) if pre else None),
            ProjectionLayer(D_MODEL, VOCAB_SIZE),
        )
        xavier_initialize(model)
    if placement == "no residual":
        take_out(model, ResidualConnection, lambda part: NoResidual(part.norm))
    return model


def sequences(count: int, generator: torch.Generator) -> tuple[Int[Tensor, "batch seq"], Int[Tensor, "batch seq"]]:
    """Random ids (count, 8), and the same ids sorted."""
    check_positive_integer("count", count)
    ids = torch.randint(VOCAB_SIZE, (count, LENGTH), generator=generator)
    return ids, ids.sort(dim=-1).values


@dataclass(frozen=True)
class Outcome:
    """A trained model, the loss of each step in nats per token, and its share of right tokens, 0 .. 1."""

    model: nn.Sequential
    losses: list[float]
    accuracy: float


def train_sorter(
    placement: str,
    num_layers: int,
    *,
    rate: float = 0.003,
    warmup_steps: int = 0,
    seed: int = 0,
    steps: int = STEPS,
) -> Outcome:
    """Train one encoder with Adam. `seed` decides weights and sequences; the same sequences for every model.

    Args:
        placement, num_layers: as in `new_sorter`.
        rate: the learning rate; constant after `warmup_steps` steps, in which it rises in a straight line.
        steps: how many batches of 64 sequences.

    Raises:
        FloatingPointError: the loss is no longer a finite number.
    """
    check_number("rate", rate)
    check_positive_integer("warmup_steps", warmup_steps, minimum=0)
    check_positive_integer("steps", steps)
    model, generator = new_sorter(placement, num_layers, seed), torch.Generator().manual_seed(seed)
    optimizer, losses = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9), []
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = rate * min(1.0, step / max(warmup_steps, 1))
        ids, answer = sequences(BATCH_SIZE, generator)
        loss = F.cross_entropy(model(ids).flatten(0, 1), answer.flatten())
        if not math.isfinite(loss.item()):
            raise FloatingPointError(f"loss must stay finite, got {loss.item()} at step {step} with rate {rate:g}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return Outcome(model.eval(), losses, accuracy(model))


@torch.no_grad()
def accuracy(model: nn.Module, count: int = 500) -> float:
    """The share of right tokens, 0 .. 1, on `count` sequences that are the same for every model."""
    ids, answer = sequences(count, torch.Generator().manual_seed(1_000_000))
    return float((model(ids).argmax(dim=-1) == answer).float().mean())


def settings(depths: Sequence[int] = DEPTHS) -> Iterator[dict[str, Any]]:
    """What the recording measures; without a residual only the gentlest setting, which is not gentle enough."""
    for num_layers, placement, rate, warmup_steps in product(depths, PLACEMENTS, RATES, (0, WARMUP_STEPS)):
        gentlest = rate == min(RATES) and warmup_steps > 0
        if placement != "no residual" or gentlest:
            yield {"num_layers": num_layers, "placement": placement, "rate": rate, "warmup_steps": warmup_steps}


@experiment("depth")
def record_depth(
    depths: Sequence[int] = DEPTHS, seeds: Sequence[int] = SEEDS, steps: int = STEPS, every: int = 25
) -> dict[str, Any]:
    """All settings from all seeds: the mean loss of each `every` steps, and the share of right tokens."""
    runs = []
    for setting, seed in product(settings(depths), seeds):
        outcome = train_sorter(**setting, seed=seed, steps=steps)
        chunks = [outcome.losses[start : start + every] for start in range(0, steps, every)]
        losses = [round(sum(chunk) / len(chunk), 4) for chunk in chunks]
        runs.append({**setting, "seed": seed, "accuracy": round(outcome.accuracy, 4), "losses": losses})
    parameters = {str(n): sum(p.numel() for p in new_sorter("post", n).parameters()) for n in depths}
    return {"steps": steps, "every": every, "warmup_steps": WARMUP_STEPS, "parameters": parameters, "runs": runs}
