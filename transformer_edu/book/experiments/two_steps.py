"""Which letter stands behind the star? A question for two layers, and the links that its answer needs (chapter 9).

A row begins with a question mark; one star stands somewhere behind it, letters everywhere else. The answer is read off
at one place, the question mark's unless another is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.book.experiments import experiment
from transformer_edu.config import build_encoder_layer
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder
from transformer_edu.positional import PositionalEncoding
from transformer_edu.support.initialization import xavier_initialize
from transformer_edu.support.seeds import seeded
from transformer_edu.support.shapes import Bool, Float, Int, Tensor
from transformer_edu.support.validation import check_positive_integer

QUESTION, STAR, SYMBOLS = 0, 1, 10  # the ids 2 .. 9 are the letters: guessing gives 12.5 %
LENGTH = 10
BATCH_SIZE = 64
RATE = 0.003
STEPS = 600
MARKS = (600, 1500, 3000)
SEEDS = (0, 1, 2)

Places = Callable[[Int[Tensor, "batch seq"]], Int[Tensor, " batch"]]
Hidden = Callable[[Tensor, Tensor, Tensor], Tensor]  # (query, key, star) places -> True where the link is cut

LINKS: dict[str, dict[int, Hidden]] = {
    "nothing": {},
    "layer 2: ? → behind the star": {2: lambda q, k, star: (q == 0) & (k == star + 1)},
    "layer 1: behind the star → the star": {1: lambda q, k, star: (q == star + 1) & (k == star)},
    "layer 1: ? → the star": {1: lambda q, k, star: (q == 0) & (k == star)},
    "layer 1: both of these": {1: lambda q, k, star: ((q == 0) | (q == star + 1)) & (k == star)},
    "layer 1: the other letters → the star": {
        1: lambda q, k, star: (q != 0) & (q != star) & (q != star + 1) & (k == star)
    },
    "layer 1: everybody → the star": {1: lambda q, k, star: (q != star) & (k == star)},
}


def first_place(ids: Int[Tensor, "batch seq"]) -> Int[Tensor, " batch"]:
    """Where the question mark stands: place 0 in every row."""
    return torch.zeros(len(ids), dtype=torch.long)


def star_place(ids: Int[Tensor, "batch seq"]) -> Int[Tensor, " batch"]:
    """Where the star stands."""
    return (ids == STAR).long().argmax(dim=1)


def rows_with_a_star(count: int) -> tuple[Int[Tensor, "batch seq"], Int[Tensor, " batch"]]:
    """Random rows (count, 10) and the letter behind each row's star, which stands anywhere but first and last."""
    ids = torch.randint(2, SYMBOLS, (count, LENGTH))
    star, row = torch.randint(1, LENGTH - 1, (count,)), torch.arange(count)
    ids[:, 0], ids[row, star] = QUESTION, STAR
    return ids, ids[row, star + 1]


class Reader(nn.Module):
    """An encoder that gives each place of a row a score for each symbol."""

    def __init__(self, num_layers: int, d_model: int = 32, num_heads: int = 4) -> None:
        super().__init__()
        self.embedding = InputEmbedding(SYMBOLS, d_model)
        self.positions = PositionalEncoding(d_model, max_len=LENGTH)
        self.encoder = Encoder([build_encoder_layer(d_model, num_heads, 2 * d_model) for _ in range(num_layers)])
        self.projection = ProjectionLayer(d_model, SYMBOLS)
        xavier_initialize(self)

    def forward(
        self, ids: Int[Tensor, "batch seq"], cut: Mapping[int, Bool[Tensor, "batch seq seq"]] | None = None
    ) -> Float[Tensor, "batch seq symbols"]:
        """Scores; `cut` says for a layer, counted from 1, which query may not look at which key."""
        x, cut = self.positions(self.embedding(ids)), cut or {}
        for number, layer in enumerate(self.encoder.layers, start=1):
            x = layer(x, ~cut[number][:, None] if number in cut else None)
        return self.projection(x)


def train_reader(
    num_layers: int,
    d_model: int = 32,
    num_heads: int = 4,
    *,
    seed: int = 0,
    steps: int = STEPS,
    place: Places = first_place,
    marks: Sequence[int] = (),
) -> tuple[Reader, dict[int, float]]:
    """Train with Adam on fresh rows; weights and rows depend on `seed` alone.

    Returns:
        The reader, and its share of right answers at each of the steps in `marks`.
    """
    check_positive_integer("steps", steps)
    shares = {}
    with seeded(seed):
        reader = Reader(num_layers, d_model, num_heads)
        optimizer = torch.optim.Adam(reader.parameters(), lr=RATE)
        for step in range(1, steps + 1):
            ids, wanted = rows_with_a_star(BATCH_SIZE)
            loss = F.cross_entropy(reader(ids)[torch.arange(len(ids)), place(ids)], wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step in marks:
                shares[step] = share_right(reader, place=place)
    return reader, shares


@torch.no_grad()
def share_right(
    reader: Reader, cut: Mapping[int, Hidden] | None = None, *, place: Places = first_place, count: int = 1000
) -> float:
    """The share of right answers, 0 .. 1, on rows that are the same for every reader, with these links cut."""
    with seeded(1_000_000):
        ids, wanted = rows_with_a_star(count)
    star, places = star_place(ids)[:, None, None], torch.arange(LENGTH)
    masks = {layer: hide(places[:, None], places, star) for layer, hide in (cut or {}).items()}
    found = reader(ids, masks)[torch.arange(count), place(ids)].argmax(dim=-1)
    return float((found == wanted).float().mean())


@experiment("two-steps")
def record_two_steps(seeds: Sequence[int] = SEEDS, marks: Sequence[int] = MARKS) -> dict[str, Any]:
    """One layer for longer, two layers, and their links cut one at a time. About three minutes of one thread."""
    runs: list[dict[str, Any]] = []
    for seed in seeds:
        for num_layers, d_model, num_heads in ((1, 44, 4), (1, 64, 8), (2, 32, 4)):
            if num_heads == 8 and seed != seeds[0]:
                continue  # the large one is dear: once
            steps = marks[0] if num_layers == 2 else marks[-1]
            reader, shares = train_reader(num_layers, d_model, num_heads, seed=seed, steps=steps, marks=marks)
            runs.append({
                "seed": seed, "layers": num_layers, "d_model": d_model, "heads": num_heads,
                "parameters": sum(parameter.numel() for parameter in reader.parameters()),
                "right": {str(step): round(share, 3) for step, share in shares.items()},
                "cut": {name: round(share_right(reader, cut), 3) for name, cut in LINKS.items() if num_layers == 2},
            })  # fmt: skip
    return {"runs": runs}
