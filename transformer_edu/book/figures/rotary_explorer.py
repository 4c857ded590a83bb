"""Rotary positions: every pair of a query and of a key is turned; their product knows the distance alone."""

from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import choice, index, made, one_of, whole
from transformer_edu.parts.rotary import TURN, RotaryPositions, linear, ntk, speeds_of, yarn, yarn_gain
from transformer_edu.support.shapes import Float, Tensor

BASES = (10_000, 500_000, 1_000_000)
TRAINED, READ = (512, 2048, 8192), (2048, 8192, 32_768)
SCALINGS = {"none": "not scaled", "linear": "linear", "ntk": "NTK", "yarn": "YaRN"}
QUERY = (0.9, 0.3, 0.5, 0.7, 0.8, -0.2, 0.7, 0.4, 0.9, 0.1, 0.8, 0.3)
KEY = (0.8, -0.2, 0.7, 0.5, 0.6, 0.5, 0.9, 0.1, 0.8, 0.4, 0.9, 0.2)
D_HEAD = len(QUERY)


class RotaryExplorer(Figure):
    """A query at one position, a key at another, each of its six pairs of numbers turned by position · θ_i.

    θ_i = base^(-2i / 12) radians a position, `scaling` slows it down where more is read than was trained.

    Args:
        base: 10,000 (the paper), 500,000 (Llama 3) or 1,000,000.
        trained: length of the texts of training: 512, 2,048 or 8,192 tokens.
        read: length of the text that is read: 2,048, 8,192 or 32,768.
        scaling: "none", "linear", "ntk" or "yarn" (`transformer_edu.parts.rotary`), by the factor read / trained.
        query: its position, counts from 0. key: its position, not after the query's.

    Su et al. 2021; Chen et al. 2023; Peng et al. 2023.
    """

    figure_name: ClassVar[str] = "rotary-explorer"

    base = one_of(BASES[0], BASES)
    trained = one_of(2048, TRAINED)
    read = one_of(8192, READ)
    scaling = choice("none", SCALINGS)
    query = index(1000, lambda so: so.read)
    key = whole(lambda so: max(0, so.query - 300), 0, lambda so: so.query)
    vectors = made(traitlets.List(), lambda so: [list(QUERY), list(KEY)])

    def alt_text(self) -> str:
        """Where both stand, the score, and how many pairs turn further than in training."""
        far = pairs_beyond(self)
        return (
            f"Six pairs of a query at position {self.query} and of a key at position {self.key} as clocks with two "
            f"hands, base {self.base:,}. Below each the product of its lengths and the cosine between its hands; "
            f"their sum, the score, is {products(self).sum().item():.2f} and depends on the distance "
            f"{self.query - self.key} alone. Trained with {self.trained:,} tokens, read {self.read:,}, "
            f"{SCALINGS[self.scaling]}: {len(far) or 'no'} of 6 pairs turn{'s' * (len(far) < 2)} further than in "
            f"training. A curve shows the score against the distance."
        )


def positions_of(so: Any, max_len: int = 1) -> RotaryPositions:
    """Rotary positions of a state of the figure."""
    factor = max(1.0, so.read / so.trained)
    scaled = {
        "none": None,
        "linear": linear(factor),
        "ntk": ntk(factor),
        "yarn": yarn(factor, so.trained, base=float(so.base)),
    }
    gain = yarn_gain(factor) if so.scaling == "yarn" else 1.0
    return RotaryPositions(D_HEAD, max_len, base=float(so.base), scaling=scaled[so.scaling], gain=gain)


def products(so: Any) -> Float[Tensor, " pairs"]:
    """What each pair of the turned query and the turned key adds to the score."""
    rotary = positions_of(so, so.query + 1)
    given = zip((QUERY, KEY), (so.query, so.key), strict=True)
    query, key = (rotary.rotate(torch.tensor(vector)[None, None, None], place).flatten() for vector, place in given)
    return (query * key).view(-1, 2).sum(1)


def pairs_beyond(so: Any) -> list[int]:
    """Pairs that made no whole turn in training and turn further than there when as much is read."""
    speeds, scaling = speeds_of(D_HEAD, float(so.base)), positions_of(so).scaling
    known, now = so.trained * speeds, so.read * (speeds if scaling is None else scaling(speeds))
    return [i for i in range(len(speeds)) if known[i] < TURN and now[i] > known[i] * (1 + 1e-9)]
