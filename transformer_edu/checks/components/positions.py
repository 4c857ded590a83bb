"""Checks the sinusoidal table and the rotation that leads from one position to another."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import as_tensor
from transformer_edu.positional import sinusoidal_table

FAR = 5000  # positions in the trial of precision
CLOSE = 1e-5  # largest difference from float64 that passes there


def check_sinusoidal_table(fn: Callable[[int, int], Tensor]) -> None:
    """Check fn(max_len, d_model) -> table (max_len, d_model), sines in even columns and cosines in odd ones."""
    need_callable("fn", fn)
    TABLE.check(fn)


def check_position_rotation(fn: Callable[[int, float], Tensor]) -> None:
    """Check fn(k, theta) -> M (2, 2) with M @ [sin(pθ), cos(pθ)] = [sin((p+k)θ), cos((p+k)θ)] for every p."""
    need_callable("fn", fn)
    ROTATION.check(fn)


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


def _rotated(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The matrix, and what it makes of position p."""
    k, theta, p = given.values()
    matrix = as_tensor(fn(k, theta), "a matrix (2, 2)").double()
    here = torch.tensor([math.sin(p * theta), math.cos(p * theta)], dtype=torch.float64)
    return {"M @ [sin(pθ), cos(pθ)]": (matrix @ here)[None], "M": matrix}


def rotation(k: int, theta: float) -> Tensor:
    """[[cos kθ, sin kθ], [−sin kθ, cos kθ]]: for a pair in the order (sin, cos)."""
    cos, sin = math.cos(k * theta), math.sin(k * theta)
    return torch.tensor([[cos, sin], [-sin, cos]])


TABLE = Component(
    "sinusoidal table",
    reference=sinusoidal_table,
    trials=[
        Trial("three positions, four dimensions", {"max_len": 3, "d_model": 4}, _table),
        Trial("four positions, six dimensions", {"max_len": 4, "d_model": 6}, _table),
        Trial("a hundred positions, 32 dimensions", {"max_len": 100, "d_model": 32}, _table, tolerance=1e-3),
        Trial("far from the start", {"max_len": FAR, "d_model": 64}, _far_end),
    ],
)

ROTATION = Component(
    "position rotation",
    reference=rotation,
    trials=[
        Trial("one step of a quarter turn", {"k": 1, "theta": math.pi / 2, "p": 0}, _rotated),
        Trial("one step of a twelfth turn", {"k": 1, "theta": math.pi / 6, "p": 1}, _rotated),
        Trial("three steps", {"k": 3, "theta": 0.5, "p": 2}, _rotated),
        Trial("two steps back", {"k": -2, "theta": 0.25, "p": 5}, _rotated),
    ],
)
