"""Checks a projection's rows carried over from rotary pairs of neighbours to pairs of halves."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor
from transformer_edu.parts.rotary import halves_of

Order = Callable[[int], list[int]]


def check_rotary_layout(fn: Callable[[Tensor, int], Tensor]) -> None:
    """Check fn(weight, num_heads) with weight (num_heads · d_head, d_model) -> the same shape, its rows in new places.

    In each head, pairs of neighbours (2i, 2i + 1) become pairs of halves (i, i + d_head / 2).
    """
    COMPONENT.check(fn=fn)


def carried_over(weight: Tensor, num_heads: int, *, order: Order = halves_of) -> Tensor:
    """The rows of each head in a new order; `order` exchanges it, for the mistakes below."""
    heads = weight.unflatten(0, (num_heads, -1))
    return heads[:, order(heads.shape[1])].flatten(0, 1)


def _observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    weight = given["weight"]
    result = as_tensor(fn(weight, given["num_heads"]))
    if result.shape != weight.shape:
        raise Unfit(f"returned the shape {tuple(result.shape)}, expected that of weight, {tuple(weight.shape)}")
    return {"rows": result}


def _trial(title: str, num_heads: int, d_head: int, d_model: int) -> Trial:
    rows = torch.arange(num_heads * d_head * 1.0)[:, None]
    return Trial(title, {"weight": rows + torch.arange(d_model) / 10, "num_heads": num_heads}, _observe)


COMPONENT = Component(
    "rotary layout",
    chapter=19,
    reference=carried_over,
    trials=[
        _trial("one head of four, d_model 2", 1, 4, 2),
        _trial("one head of six", 1, 6, 2),
        _trial("two heads of six", 2, 6, 3),
        _trial("three heads of two: nothing moves", 3, 2, 2),
        _trial("two heads of eight", 2, 8, 4),
    ],
)
mistake = COMPONENT.mistake


def _back(d_head: int) -> list[int]:
    return torch.tensor(halves_of(d_head)).argsort().tolist()


mistake(
    "the order is the inverse one: halves become neighbours",
    symptom="right for heads of two and of four, and nonsense for all others",
    why="a list of where to take rows from and one of where to put them are inverse to each other.",
    hint="Which row of the old weight should stand second in the new one: row 1, or row 2?",
)(partial(carried_over, order=_back))
mistake(
    "nothing is moved",
    symptom="short texts look almost right; the longer they are, the less sense they make",
    why="the two layouts turn other entries together; the same weights mean something else in each.",
    hint="Which entries turn together before, and which after?",
)(lambda weight, num_heads: weight.clone())
mistake(
    "the rows of all heads are mixed",
    symptom="right for one head; with several, each head holds rows of all of them",
    why="the pairs lie within a head of d_head rows, not within the whole matrix.",
    hint="How many rows does one head have? Cut the matrix into heads first.",
)(lambda weight, num_heads: carried_over(weight, 1))
mistake(
    "the columns are moved, not the rows",
    symptom="every head reads the features of its input in a wrong order",
    why="nn.Linear keeps its weight as (out, in): the pairs are pairs of outputs.",
    hint="Which dimension of the weight counts the features that are turned?",
)(lambda weight, num_heads: carried_over(weight.T, 1).T if weight.shape[1] % 2 == 0 else weight.clone())
mistake(
    "the halves are exchanged",
    symptom="every pair turns the other way round",
    why="the first entries of the pairs come first, then the second ones.",
    hint="Row 0 is the first entry of the first pair. Where should it stand?",
)(partial(carried_over, order=lambda d_head: [*range(1, d_head, 2), *range(0, d_head, 2)]))
mistake(
    "the order of the heads is turned round",
    symptom="the output projection gets each head in another one's place",
    why="only rows within a head change places.",
    hint="Does the first row of the new weight still belong to the first head?",
)(lambda weight, num_heads: carried_over(weight, num_heads).unflatten(0, (num_heads, -1)).flip(0).flatten(0, 1))
