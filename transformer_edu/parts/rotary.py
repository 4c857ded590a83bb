"""Positions that turn queries and keys, so that their products know the distance between two tokens alone."""

import math
from collections.abc import Callable

import torch

from transformer_edu.positional import SinusoidalTable
from transformer_edu.support.arguments import check_rotated, check_table
from transformer_edu.support.cache import HeadVectors
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_choice

Speeds = Float[Tensor, " pairs"]  # radians a position, in float64
Scaling = Callable[[Speeds], Speeds]
TURN = 2 * math.pi


class RotaryPositions(SinusoidalTable):
    """Turn pair i of the vector at position p by the angle p · base^(-2i / d_head) (Su et al., 2021, equation 34).

    A turned query times a turned key depends on how far apart they stand, not on where.

    Args:
        d_head: length of the vectors, even.
        max_len: longest sequence, in tokens.
        pairs: what is turned together: "neighbours", entries 2i and 2i + 1 (the paper), or "halves", entries i and
            i + d_head / 2 (Llama). One is the other with the entries in another order.
        base: of the slowest pair's speed; the larger, the longer its first turn takes.
        scaling: for texts longer than those of training, `linear`, `ntk`, `yarn` or `llama3` of this module.
        gain: what turned queries and keys are multiplied by (YaRN: `yarn_gain`).
    """

    def __init__(
        self,
        d_head: int,
        max_len: int = 5000,
        pairs: str = "neighbours",
        base: float = 10_000.0,
        scaling: Scaling | None = None,
        gain: float = 1.0,
    ) -> None:
        check_choice("pairs", pairs, ("neighbours", "halves"))
        check_table(max_len, d_head)
        self.base, self.scaling, self.gain = float(base), scaling, gain  # before the table is made of them
        super().__init__(d_head, max_len)
        self.pairs = pairs

    def make_table(self, max_len: int, d_model: int) -> Float[Tensor, "max_len d_model"]:
        """Sine and cosine of each pair's angle at each position, alternating."""
        speeds = speeds_of(d_model, self.base)
        if self.scaling is not None:
            speeds = self.scaling(speeds)
        angles = torch.arange(max_len, dtype=torch.float64)[:, None] * speeds
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1) * self.gain
        return table.to(torch.get_default_dtype())

    def rotate(self, x: HeadVectors, offset: int = 0) -> HeadVectors:
        """x (batch, heads, seq, d_head), whose first row stands at position `offset` -> the same shape, turned."""
        check_rotated(x, offset, self.table)
        rows = self.table[offset : offset + x.shape[-2]].to(x.dtype)  # (seq, d_head)
        sin, cos = rows[:, 0::2], rows[:, 1::2]
        if self.pairs == "halves":
            u, v = x.chunk(2, dim=-1)
            return torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)
        u, v = x[..., 0::2], x[..., 1::2]
        return torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1).flatten(-2)

    forward = rotate


def speeds_of(d_head: int, base: float) -> Speeds:
    """Radians that each pair turns from one position to the next, fastest first: base^(-2i / d_head)."""
    return base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)


def halves_of(d_head: int) -> list[int]:
    """Where each entry stands when halves are turned in place of neighbours: x[..., halves_of(d)] of neighbours."""
    return [*range(0, d_head, 2), *range(1, d_head, 2)]


def linear(factor: float) -> Scaling:
    """All pairs turn `factor` times as slowly: positions are squeezed (Chen et al., 2023)."""
    return lambda speeds: speeds / factor


def ntk(factor: float) -> Scaling:
    """The fastest pair stays, the slowest turns `factor` times as slowly, the others between them: a larger base."""
    return lambda speeds: speeds * factor ** -torch.linspace(0, 1, len(speeds), dtype=torch.float64)


def yarn(factor: float, trained: int, fast: float = 32.0, slow: float = 1.0, base: float = 10_000.0) -> Scaling:
    """Pairs that turn more than `fast` times in `trained` positions stay, those below `slow` turns are squeezed.

    Between the two a ramp over the pairs' numbers, from one whole number to another (Peng et al., 2023, section 3.2).
    """

    def scaled(speeds: Speeds) -> Speeds:
        d_head = 2 * len(speeds)
        ends = [d_head * math.log(trained / (turns * TURN)) / (2 * math.log(base)) for turns in (fast, slow)]
        low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), d_head - 1)
        squeezed = ((torch.arange(len(speeds), dtype=torch.float64) - low) / max(high - low, 0.001)).clamp(0, 1)
        return speeds * (1 - squeezed) + speeds / factor * squeezed

    return scaled


def yarn_gain(factor: float) -> float:
    """By what YaRN multiplies turned queries and keys: 0.1 ln(factor) + 1."""
    return 0.1 * math.log(factor) + 1 if factor > 1 else 1.0


def llama3(factor: float, trained: int, low: float = 1.0, high: float = 4.0) -> Scaling:
    """As `yarn`, with a ramp over the number of turns in `trained` positions, from `high` down to `low`."""

    def scaled(speeds: Speeds) -> Speeds:
        turns = trained * speeds / TURN
        kept = ((turns - low) / (high - low)).clamp(0, 1)
        return speeds * kept + speeds / factor * (1 - kept)

    return scaled


def for_longer_texts(name: str, factor: float, trained: int, base: float) -> tuple[Scaling | None, float]:
    """Scaling and gain of a configuration: "", "linear", "yarn" or "llama3"."""
    if name == "yarn":
        return yarn(factor, trained, base=base), yarn_gain(factor)
    return {"": None, "linear": linear(factor), "llama3": llama3(factor, trained)}[name], 1.0
