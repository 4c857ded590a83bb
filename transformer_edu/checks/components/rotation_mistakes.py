"""Known mistakes in the matrix that leads from position p to position p + k."""

import math

import torch
from torch import Tensor

from transformer_edu.checks.components.positions import ROTATION, rotation


@ROTATION.mistake(
    "the matrix is transposed: it turns the other way",
    symptom="it leads from p to p - k. It is right for a pair in the order (cos, sin); here the order is (sin, cos)",
    why="which corner has the minus depends on the order of the pair.",
    hint="Expand sin(pθ + kθ): what multiplies sin(pθ), what cos(pθ)? That is your first row.",
)
def transposed(k: int, theta: float) -> Tensor:
    return rotation(k, theta).T


@ROTATION.mistake(
    "sine and cosine have changed places in the matrix",
    symptom="k = 0 does not give the identity",
    why="a rotation has the cosine on the diagonal: not turning at all must leave everything as it is.",
    hint="Put k = 0. Which matrix must come out?",
)
def sine_on_diagonal(k: int, theta: float) -> Tensor:
    cos, sin = math.cos(k * theta), math.sin(k * theta)
    return torch.tensor([[sin, cos], [-cos, sin]])


@ROTATION.mistake(
    "it is a reflection, not a rotation: a sign is wrong",
    symptom="applied twice it leads back to the start",
    why="of the two sines exactly one has a minus, and both cosines have the same sign; the determinant is 1.",
    hint="Expand cos(pθ + kθ). Which of the two terms has the minus?",
)
def reflection(k: int, theta: float) -> Tensor:
    cos, sin = math.cos(k * theta), math.sin(k * theta)
    return torch.tensor([[cos, sin], [sin, -cos]])


@ROTATION.mistake(
    "no sine has a minus",
    symptom="lengths change: the result is no point on the circle",
    why="of the two sines in a rotation exactly one has a minus.",
    hint="Expand cos(pθ + kθ). Which of the two terms has the minus?",
)
def minus_missing(k: int, theta: float) -> Tensor:
    cos, sin = math.cos(k * theta), math.sin(k * theta)
    return torch.tensor([[cos, sin], [sin, cos]])


@ROTATION.mistake(
    "the angle is θ, whatever k is",
    symptom="right for one step, wrong for several",
    why="k steps turn by kθ.",
    hint="Which argument does your function never use?",
)
def single_step(k: int, theta: float) -> Tensor:
    return rotation(1, theta)


@ROTATION.mistake(
    "the angle is taken for degrees",
    symptom="a matrix close to the identity",
    why="sin and cos take radians; a factor π/180 has crept in.",
    hint="θ is in radians per position, as in the table.",
)
def rotation_in_degrees(k: int, theta: float) -> Tensor:
    return rotation(k, theta * math.pi / 180)
