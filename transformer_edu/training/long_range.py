"""Remember a token across a distance: recurrence, convolution and self-attention at one budget (chapter 2).

A sequence holds `distance` + 1 random tokens; at the last place the model is asked for the first one.

python -m transformer_edu.training.long_range --distance 16
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.embedding import InputEmbedding
from transformer_edu.encoder import EncoderLayer
from transformer_edu.positional import PositionalEncoding
from transformer_edu.shapes import Float, Ids, Int, Tensor
from transformer_edu.training.grammar_model import one_thread
from transformer_edu.validation import check_choice, check_number, check_positive_integer

VOCAB_SIZE = 8  # guessing is right once in eight times
DISTANCES = (2, 4, 8, 16, 32, 64, 128)  # tokens
STEPS = 600  # at most: a model that has learnt the task stops earlier
BATCH_SIZE = 64
LEARNT = 0.01  # nats: training stops when the mean loss of ten steps is below this
MAX_LEN = 2048


class Recurrent(nn.Module):
    """One layer that reads the tokens one after another and keeps one vector.

    Args:
        cell: `nn.RNN` (tanh), `nn.GRU` or `nn.LSTM`.
        d_model: length of a token's vector.
        hidden: length of the vector that is kept.
    """

    def __init__(self, cell: Callable[..., nn.Module], d_model: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model)
        self.cell = cell(d_model, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, VOCAB_SIZE)

    def forward(self, ids: Ids) -> Float[Tensor, "batch vocab"]:
        """Ids (batch, seq) -> logits (batch, vocab) at the last place."""
        states, _ = self.cell(self.embedding(ids))  # (batch, seq, hidden)
        return self.readout(states[:, -1])


class Convolution(nn.Module):
    """Layers each of which sees a token and two earlier ones.

    No residual connections: with them a stack this small does not learn to use the far end of its reach.

    Args:
        d_model: length of every vector.
        steps_back: for each layer, how far apart the three tokens are (1: neighbours; the dilation).
    """

    def __init__(self, d_model: int, steps_back: Sequence[int]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model)
        self.layers = nn.ModuleList(nn.Conv1d(d_model, d_model, 3, dilation=step) for step in steps_back)
        self.steps_back = tuple(steps_back)
        self.readout = nn.Linear(d_model, VOCAB_SIZE)

    @property
    def reach(self) -> int:
        """How many tokens back the last place can see."""
        return 2 * sum(self.steps_back)

    def forward(self, ids: Ids) -> Float[Tensor, "batch vocab"]:
        """Ids (batch, seq) -> logits (batch, vocab) at the last place."""
        x = self.embedding(ids).transpose(1, 2)  # (batch, d_model, seq)
        for layer, step in zip(self.layers, self.steps_back, strict=True):
            x = torch.relu(layer(F.pad(x, (2 * step, 0))))  # padded on the left: only earlier tokens
        return self.readout(x[:, :, -1])


class SelfAttention(nn.Module):
    """One encoder layer of the book, with positions. Arguments as in `EncoderLayer`."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.embedding = InputEmbedding(VOCAB_SIZE, d_model)
        self.position = PositionalEncoding(d_model, max_len=MAX_LEN)
        self.layer = EncoderLayer(d_model, num_heads, d_ff)
        self.readout = nn.Linear(d_model, VOCAB_SIZE)
        for parameter in self.parameters():  # as in `build_transformer`; larger embeddings would drown the positions
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, ids: Ids) -> Float[Tensor, "batch vocab"]:
        """Ids (batch, seq) -> logits (batch, vocab) at the last place."""
        return self.readout(self.layer(self.position(self.embedding(ids)))[:, -1])


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
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
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
    check_positive_integer("steps", steps)
    model, generator = new_contender(name, seed), torch.Generator().manual_seed(seed)
    rate = CONTENDERS[name].learning_rate if learning_rate is None else learning_rate
    check_number("learning_rate", rate)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=rate), []
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
def accuracy(model: nn.Module, distance: int, count: int = 1000) -> float:
    """The share of right answers, 0 .. 1, on `count` sequences that are the same for every model."""
    ids, answer = sequences(count, distance, torch.Generator().manual_seed(1_000_000))
    return float((model(ids).argmax(dim=-1) == answer).float().mean())


def record_long_range(seeds: Sequence[int], distances: Sequence[int] = DISTANCES, steps: int = STEPS) -> dict[str, Any]:
    """Every contender at every distance from every seed: what it scores, and after how many steps."""
    runs = []
    for name in CONTENDERS:
        for distance in distances:
            for seed in seeds:
                outcome = train_contender(name, distance, seed, steps)
                run = {"model": name, "distance": distance, "seed": seed}
                runs.append({**run, "accuracy": round(outcome.accuracy, 4), "steps": outcome.steps})
    parameters = {name: sum(p.numel() for p in new_contender(name).parameters()) for name in CONTENDERS}
    return {"vocab_size": VOCAB_SIZE, "most_steps": steps, "parameters": parameters, "runs": runs}


def main(arguments: list[str] | None = None) -> None:
    """The command: train every contender at one distance, and print how each did."""
    parser = argparse.ArgumentParser(description="Recall a token across a distance with five architectures.")
    parser.add_argument("--distance", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args(arguments)
    with one_thread():
        for name in CONTENDERS:
            outcome = train_contender(name, options.distance, options.seed, options.steps)
            print(f"{name:20s} {outcome.accuracy:6.1%} right after {outcome.steps} steps")


if __name__ == "__main__":
    main()
