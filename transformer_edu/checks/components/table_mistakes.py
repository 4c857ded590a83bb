"""Known mistakes in the sinusoidal table."""

import math

import torch
from torch import Tensor

from transformer_edu.checks.components.positions import TABLE

mistake = TABLE.mistake


def interleave(sines: Tensor, cosines: Tensor) -> Tensor:
    """(max_len, pairs) twice -> (max_len, d_model): sin, cos, sin, cos, ..."""
    return torch.stack([sines, cosines], dim=-1).flatten(-2)


def table(max_len: int, theta: Tensor, first: int = 0) -> Tensor:
    """The right table for given frequencies θ (pairs), from position `first` on."""
    angles = torch.arange(first, first + max_len, dtype=torch.float64)[:, None] * theta
    return interleave(angles.sin(), angles.cos())


def even(d_model: int) -> Tensor:
    """2i: 0, 2, 4, ... below d_model."""
    return torch.arange(0, d_model, 2, dtype=torch.float64)


@mistake(
    "the parenthesis is in the wrong place: -log(10000 / d_model) instead of -log(10000) / d_model",
    symptom="frequencies that fall to nothing after the first pair, so that most columns are constant",
    why="the division by d_model slipped into the logarithm.",
    hint="10000^(-2i/d_model) is exp(2i · something). Take the logarithm of the power and write it out.",
)
def parenthesis_misplaced(max_len: int, d_model: int) -> Tensor:
    return table(max_len, torch.exp(even(d_model) * -math.log(10000.0 / d_model)))


@mistake(
    "the base is 1000, not 10000",
    symptom="the slowest wave is ten times too fast; nothing else looks wrong",
    why="a zero is missing. (Another base is another valid encoding, but not the paper's.)",
    hint="Count the zeros of the base in the paper, section 3.5.",
)
def base_1000(max_len: int, d_model: int) -> Tensor:
    return table(max_len, 1000.0 ** (-even(d_model) / d_model))


@mistake(
    "the exponent is i / d_model, not 2i / d_model",
    symptom="the slowest wave turns about a hundred times too fast: it reaches 100, not 10000, positions",
    why="i counts pairs, 0 .. d_model/2 - 1, and the exponent has to reach from 0 to nearly 1.",
    hint="What is your exponent for the last pair? It should be (d_model - 2) / d_model.",
)
def exponent_of_pair(max_len: int, d_model: int) -> Tensor:
    return table(max_len, 10000.0 ** (-even(d_model) / 2 / d_model))


@mistake(
    "the factor 2 is counted twice",
    symptom="frequencies fall too fast: the second half of the columns is nearly constant",
    why="arange(0, d_model, 2) already is 2i; multiplied by 2 again it is 4i.",
    hint="What is your exponent for the last pair? It should be (d_model - 2) / d_model.",
)
def factor_counted_twice(max_len: int, d_model: int) -> Tensor:
    return table(max_len, 10000.0 ** (-2 * even(d_model) / d_model))


def _column_frequencies(max_len: int, d_model: int, factor: int) -> Tensor:
    column = torch.arange(d_model, dtype=torch.float64)
    angles = torch.arange(max_len, dtype=torch.float64)[:, None] * 10000.0 ** (-factor * column / d_model)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


@mistake(
    "every column has a frequency of its own; sine and cosine of a pair do not belong together",
    symptom="no rotation leads from one position to the next, so relative position is not a linear function",
    why="i was taken for the column (dimension) index; it is the pair's: columns 2i and 2i+1 share one frequency.",
    hint="Which frequency does column 1 have in your table, and which does column 0? They should be equal.",
)
def frequency_per_column(max_len: int, d_model: int) -> Tensor:
    return _column_frequencies(max_len, d_model, factor=1)


@mistake(
    "i was taken for the column index and doubled as well",
    symptom="frequencies fall twice as fast as they should, and the two columns of a pair differ",
    why="in the paper's 2i/d_model, i is the pair's index, not the dimension's: columns 2i and 2i+1 share it.",
    hint="How many different frequencies should d_model = 4 have? Which columns share one?",
)
def doubled_column(max_len: int, d_model: int) -> Tensor:
    return _column_frequencies(max_len, d_model, factor=2)


@mistake(
    "all sines stand first and all cosines after them",
    symptom="none in training: it is another valid convention, but not the paper's, and weights trained with one "
    "do not work with the other",
    why="the halves are concatenated; the paper interleaves them, sine in column 2i, cosine in column 2i+1.",
    hint="Which columns does the slice 0::2 name?",
)
def halves_concatenated(max_len: int, d_model: int) -> Tensor:
    paper = table(max_len, 10000.0 ** (-even(d_model) / d_model))
    return torch.cat([paper[:, 0::2], paper[:, 1::2]], dim=-1)


@mistake(
    "sine and cosine have changed places",
    symptom="row 0 begins with 1 instead of 0; weights trained with the paper's order do not fit",
    why="the paper has the sine in even columns and the cosine in odd ones.",
    hint="What should position 0 be, column by column?",
)
def swapped(max_len: int, d_model: int) -> Tensor:
    paper = table(max_len, 10000.0 ** (-even(d_model) / d_model))
    return interleave(paper[:, 1::2], paper[:, 0::2])


@mistake(
    "positions are counted from 1",
    symptom="an offset of one against every other implementation",
    why="the first token's position is 0, and its row is 0, 1, 0, 1, ...",
    hint="What is your row 0?",
)
def positions_from_one(max_len: int, d_model: int) -> Tensor:
    return table(max_len, 10000.0 ** (-even(d_model) / d_model), first=1)


@mistake(
    "the angles are taken for degrees",
    symptom="neighbouring positions are almost equal",
    why="sin and cos take radians; a factor π/180 has crept in.",
    hint="What is sin(1) in Python, and what is the entry of position 1, column 0, in your table?",
)
def degrees(max_len: int, d_model: int) -> Tensor:
    return table(max_len, math.pi / 180 * 10000.0 ** (-even(d_model) / d_model))


@mistake(
    "the position is multiplied by 10000^(2i/d_model), not divided",
    symptom="columns that look like noise: each step turns the later pairs many times around",
    why="the sign of the exponent is lost.",
    hint="Should the waves become slower or faster from left to right?",
)
def sign_lost(max_len: int, d_model: int) -> Tensor:
    return table(max_len, 10000.0 ** (even(d_model) / d_model))


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
