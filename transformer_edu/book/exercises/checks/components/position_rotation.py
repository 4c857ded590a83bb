"""Checks the rotation that leads from one position's pair of sine and cosine to another's."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor


def check_position_rotation(fn: Callable[[int, float], Tensor]) -> None:
    """Check fn(k, theta) -> M (2, 2) with M @ [sin(pθ), cos(pθ)] = [sin((p+k)θ), cos((p+k)θ)] for every p."""
    COMPONENT.check(fn=fn)


def _rotated(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The matrix, and what it makes of position p."""
    k, theta, p = given.values()
    matrix = as_tensor(fn(k, theta), "a matrix (2, 2)").double()
    here = torch.tensor([math.sin(p * theta), math.cos(p * theta)], dtype=torch.float64)
    return {"M @ [sin(pθ), cos(pθ)]": (matrix @ here)[None], "M": matrix}


def matrix(rows: Callable[[float, float], list[list[float]]]) -> Callable[[int, float], Tensor]:
    """A function of k and θ that fills these rows with the cosine and sine of kθ."""
    return lambda k, theta: torch.tensor(rows(math.cos(k * theta), math.sin(k * theta)))


rotation = matrix(lambda cos, sin: [[cos, sin], [-sin, cos]])  # for a pair in the order (sin, cos)
COMPONENT = Component(
    "position rotation",
    chapter=4,
    reference=rotation,
    trials=[
        Trial("one step of a quarter turn", {"k": 1, "theta": math.pi / 2, "p": 0}, _rotated),
        Trial("one step of a twelfth turn", {"k": 1, "theta": math.pi / 6, "p": 1}, _rotated),
        Trial("three steps", {"k": 3, "theta": 0.5, "p": 2}, _rotated),
        Trial("two steps back", {"k": -2, "theta": 0.25, "p": 5}, _rotated),
    ],
)
mistake = COMPONENT.mistake

mistake(
    "the matrix is transposed: it turns the other way",
    symptom="it leads from p to p - k. It is right for a pair in the order (cos, sin); here the order is (sin, cos)",
    why="which corner has the minus depends on the order of the pair.",
    hint="Expand sin(pθ + kθ): what multiplies sin(pθ), what cos(pθ)? That is your first row.",
)(lambda k, theta: rotation(k, theta).T)
mistake(
    "sine and cosine have changed places in the matrix",
    symptom="k = 0 does not give the identity",
    why="a rotation has the cosine on the diagonal: not turning at all must leave everything as it is.",
    hint="Put k = 0. Which matrix must come out?",
)(matrix(lambda cos, sin: [[sin, cos], [-cos, sin]]))
mistake(
    "it is a reflection, not a rotation: a sign is wrong",
    symptom="applied twice it leads back to the start",
    why="of the two sines exactly one has a minus, and both cosines have the same sign; the determinant is 1.",
    hint="Expand cos(pθ + kθ). Which of the two terms has the minus?",
)(matrix(lambda cos, sin: [[cos, sin], [sin, -cos]]))
mistake(
    "no sine has a minus",
    symptom="lengths change: the result is no point on the circle",
    why="of the two sines in a rotation exactly one has a minus.",
    hint="Expand cos(pθ + kθ). Which of the two terms has the minus?",
)(matrix(lambda cos, sin: [[cos, sin], [sin, cos]]))
mistake(
    "the angle is θ, whatever k is",
    symptom="right for one step, wrong for several",
    why="k steps turn by kθ.",
    hint="Which argument does your function never use?",
)(lambda k, theta: rotation(1, theta))
mistake(
    "the angle is taken for degrees",
    symptom="a matrix close to the identity",
    why="sin and cos take radians; a factor π/180 has crept in.",
    hint="θ is in radians per position, as in the table.",
)(lambda k, theta: rotation(k, theta * math.pi / 180))
