"""Checks a residual connection with its norm before or after; its known mistakes are in `residual_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.observe import inputs_afterwards, output
from transformer_edu.checks.engine.side_effects import gradient_of
from transformer_edu.checks.engine.stubs import by_sum, calls, squares

Function = Callable[[Tensor], Tensor]


def check_residual(fn: Callable[..., Any]) -> None:
    """Check fn(x, part, norm, place): norm(x + part(x)) for place "post", x + part(norm(x)) for place "pre".

    part and norm are functions, (batch, seq, d_model) -> (batch, seq, d_model).
    """
    need_callable("fn", fn)
    RESIDUAL.check(fn)


def residual(x: Tensor, part: Function, norm: Function, place: str) -> Tensor:
    """The bypass around a part, with the norm after the sum or before the part."""
    return norm(x + part(x)) if place == "post" else x + part(norm(x))


def _given(rows: list[Any], place: str) -> dict[str, Any]:
    return {"x": torch.tensor(rows), "part": squares(), "norm": by_sum(), "place": place}


TOKEN = [[[1.0, 3]]]
SENTENCES = [[[1.0, 3], [-2, 2]], [[0.0, 5], [4, 1]]]

RESIDUAL = Component(
    "residual connection",
    reference=residual,
    trials=[
        Trial("one token, the norm after the sum", _given(TOKEN, "post"), output),
        Trial("one token, the norm before the part", _given(TOKEN, "pre"), output),
        Trial("two sentences, the norm after the sum", _given(SENTENCES, "post"), output),
        Trial("two sentences, the norm before the part", _given(SENTENCES, "pre"), output),
        Trial("how often each is called, post", _given(TOKEN, "post"), calls),
        Trial("how often each is called, pre", _given(TOKEN, "pre"), calls),
        Trial("x afterwards, post", _given(TOKEN, "post"), inputs_afterwards),
        Trial("x afterwards, pre", _given(TOKEN, "pre"), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
