"""Checks the sinusoidal table."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor
from transformer_edu.positional import sinusoidal_table

FAR = 5000  # positions in the trial of precision
CLOSE = 1e-5  # largest difference from float64 that passes there


def check_sinusoidal_table(fn: Callable[[int, int], Tensor]) -> None:
    """Check fn(max_len, d_model) -> table (max_len, d_model), sines in even columns and cosines in odd ones."""
    COMPONENT.check(fn=fn)


def _table(fn: Any, given: dict[str, Any]) -> Tensor:
    return as_tensor(fn(*given.values()), "a table")


def _far_end(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Whether the last rows agree with a computation in float64 (Python's math module)."""
    max_len, d_model = given["max_len"], given["d_model"]
    last = as_tensor(fn(max_len, d_model), "a table")[-1].double()
    exact = torch.empty(d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        angle = (max_len - 1) * 10000.0 ** (-2 * i / d_model)
        exact[2 * i], exact[2 * i + 1] = math.sin(angle), math.cos(angle)
    return {f"position {max_len - 1} within {CLOSE} of the exact value": bool((last - exact).abs().max() < CLOSE)}


COMPONENT = Component(
    "sinusoidal table",
    chapter=4,
    reference=sinusoidal_table,
    trials=[
        Trial("three positions, four dimensions", {"max_len": 3, "d_model": 4}, _table),
        Trial("four positions, six dimensions", {"max_len": 4, "d_model": 6}, _table),
        Trial("a hundred positions, 32 dimensions", {"max_len": 100, "d_model": 32}, _table, tolerance=1e-3),
        Trial("far from the start", {"max_len": FAR, "d_model": 64}, _far_end),
    ],
)
mistake = COMPONENT.mistake


def interleave(sines: Tensor, cosines: Tensor) -> Tensor:
    """(max_len, pairs) twice -> (max_len, d_model): sin, cos, sin, cos, ..."""
    return torch.stack([sines, cosines], dim=-1).flatten(-2)


def thetas(d_model: int, base: float = 10000.0, factor: float = 1.0) -> Tensor:
    """The frequency of each pair of columns, base^(−2i / d_model); a factor other than 1 spoils the exponent."""
    return base ** (-factor * torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def table(max_len: int, theta: Tensor, first: int = 0, join: Callable[..., Tensor] = interleave) -> Tensor:
    """The right table for given frequencies θ (pairs), from position `first` on."""
    angles = torch.arange(first, first + max_len, dtype=torch.float64)[:, None] * theta
    return join(angles.sin(), angles.cos())


mistake(
    "the parenthesis is in the wrong place: -log(10000 / d_model) instead of -log(10000) / d_model",
    symptom="frequencies that fall to nothing after the first pair, so that most columns are constant",
    why="the division by d_model slipped into the logarithm.",
    hint="10000^(-2i/d_model) is exp(2i · something). Take the logarithm of the power and write it out.",
)(lambda max_len, d_model: table(max_len, thetas(d_model, base=10000.0 / d_model, factor=float(d_model))))
mistake(
    "the base is 1000, not 10000",
    symptom="the slowest wave is ten times too fast; nothing else looks wrong",
    why="a zero is missing. (Another base is another valid encoding, but not the paper's.)",
    hint="Count the zeros of the base in the paper, section 3.5.",
)(lambda max_len, d_model: table(max_len, thetas(d_model, base=1000.0)))
mistake(
    "the exponent is i / d_model, not 2i / d_model",
    symptom="the slowest wave turns about a hundred times too fast: it reaches 100, not 10000, positions",
    why="i counts pairs, 0 .. d_model/2 - 1, and the exponent has to reach from 0 to nearly 1.",
    hint="What is your exponent for the last pair? It should be (d_model - 2) / d_model.",
)(lambda max_len, d_model: table(max_len, thetas(d_model, factor=0.5)))
mistake(
    "the factor 2 is counted twice",
    symptom="frequencies fall too fast: the second half of the columns is nearly constant",
    why="arange(0, d_model, 2) already is 2i; multiplied by 2 again it is 4i.",
    hint="What is your exponent for the last pair? It should be (d_model - 2) / d_model.",
)(lambda max_len, d_model: table(max_len, thetas(d_model, factor=2.0)))


mistake(
    "the last pair has the frequency 1/10000: the exponents run from 0 to 1, evenly",
    symptom="none when training from scratch: it is another valid convention (tensor2tensor's), but not the paper's",
    why="i was divided by d_model/2 − 1, as linspace(0, 1, d_model/2) does; the paper's exponents stop before 1.",
    hint="What is your exponent for the last pair? It should be (d_model - 2) / d_model.",
)(lambda max_len, d_model: table(max_len, thetas(d_model, factor=d_model / (d_model - 2))))


def frequency_per_column(max_len: int, d_model: int, factor: int) -> Tensor:
    """Sine and cosine of one pair with two frequencies."""
    column = torch.arange(d_model, dtype=torch.float64)
    angles = torch.arange(max_len, dtype=torch.float64)[:, None] * 10000.0 ** (-factor * column / d_model)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


mistake(
    "every column has a frequency of its own; sine and cosine of a pair do not belong together",
    symptom="no rotation leads from one position to the next, so relative position is not a linear function",
    why="i was taken for the column (dimension) index; it is the pair's: columns 2i and 2i+1 share one frequency.",
    hint="Which frequency does column 1 have in your table, and which does column 0? They should be equal.",
)(partial(frequency_per_column, factor=1))
mistake(
    "i was taken for the column index and doubled as well",
    symptom="frequencies fall twice as fast as they should, and the two columns of a pair differ",
    why="in the paper's 2i/d_model, i is the pair's index, not the dimension's: columns 2i and 2i+1 share it.",
    hint="How many different frequencies should d_model = 4 have? Which columns share one?",
)(partial(frequency_per_column, factor=2))
mistake(
    "all sines stand first and all cosines after them",
    symptom="none in training: it is another valid convention, but not the paper's, and weights trained with one "
    "do not work with the other",
    why="the halves are concatenated; the paper interleaves them, sine in column 2i, cosine in column 2i+1.",
    hint="Which columns does the slice 0::2 name?",
)(lambda max_len, d_model: table(max_len, thetas(d_model), join=lambda *halves: torch.cat(halves, dim=-1)))
mistake(
    "sine and cosine have changed places",
    symptom="row 0 begins with 1 instead of 0; weights trained with the paper's order do not fit",
    why="the paper has the sine in even columns and the cosine in odd ones.",
    hint="What should position 0 be, column by column?",
)(lambda max_len, d_model: table(max_len, thetas(d_model), join=lambda sines, cosines: interleave(cosines, sines)))
mistake(
    "positions are counted from 1",
    symptom="an offset of one against every other implementation",
    why="the first token's position is 0, and its row is 0, 1, 0, 1, ...",
    hint="What is your row 0?",
)(lambda max_len, d_model: table(max_len, thetas(d_model), first=1))
mistake(
    "the angles are taken for degrees",
    symptom="neighbouring positions are almost equal",
    why="sin and cos take radians; a factor π/180 has crept in.",
    hint="What is sin(1) in Python, and what is the entry of position 1, column 0, in your table?",
)(lambda max_len, d_model: table(max_len, math.pi / 180 * thetas(d_model)))
mistake(
    "the position is multiplied by 10000^(2i/d_model), not divided",
    symptom="columns that look like noise: each step turns the later pairs many times around",
    why="the sign of the exponent is lost.",
    hint="Should the waves become slower or faster from left to right?",
)(lambda max_len, d_model: table(max_len, thetas(d_model, factor=-1.0)))


@mistake(
    "the angles are computed in float32, which is not precise enough far from the start",
    symptom="none for short sentences; at position 5,000 entries are off by up to 0.0002",
    why="a float32 angle of 5,000 radians is rounded to steps of 0.0005.",
    hint="Everything else is right. In which dtype do you multiply positions and frequencies? Round at the very end.",
)
def in_float32(max_len: int, d_model: int) -> Tensor:
    theta = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    angles = torch.arange(max_len).float()[:, None] * theta
    return interleave(angles.sin(), angles.cos())
