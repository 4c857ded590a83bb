"""Checks the position-wise feed-forward network; its known mistakes are in `feed_forward_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.observe import inputs_afterwards, output
from transformer_edu.checks.engine.side_effects import gradient_of


def check_feed_forward(fn: Callable[..., Any]) -> None:
    """Check fn(x, w1, b1, w2, b2), the paper's equation 2: max(0, x w1 + b1) w2 + b2, for each position alone.

    x is (batch, seq, d_model), w1 (d_model, d_ff), b1 (d_ff,), w2 (d_ff, d_model), b2 (d_model,).
    """
    need_callable("fn", fn)
    FEED_FORWARD.check(fn)


def feed_forward(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """max(0, x W₁ + b₁) W₂ + b₂."""
    return torch.relu(x @ w1 + b1) @ w2 + b2


def _given(rows: list[Any], **weights: list[Any]) -> dict[str, Any]:
    return {"x": torch.tensor(rows)} | {name: torch.tensor(weight) for name, weight in weights.items()}


SQUARE: dict[str, list[Any]] = {  # d_ff = d_model, which it never is in practice: the smallest example
    "w1": [[1.0, 2], [0, 3]],
    "b1": [1.0, -1],
    "w2": [[2.0, -3], [1, 4]],
    "b2": [-10.0, 20],
}
WIDE: dict[str, list[Any]] = {
    "w1": [[1.0, 0, -1, 2], [0, 1, 1, -1]],
    "b1": [0.0, 1, 0, -2],
    "w2": [[1.0, 0], [0, 1], [2, 1], [1, -3]],
    "b2": [-10.0, 20],
}
TWO_TOKENS = [[1.0, -2], [-3.0, 1]]

FEED_FORWARD = Component(
    "feed-forward network",
    reference=feed_forward,
    trials=[
        Trial("one token, d_model 2, d_ff 2", _given([TWO_TOKENS[:1]], **SQUARE), output),
        Trial("one token, d_model 2, d_ff 4", _given([TWO_TOKENS[1:]], **WIDE), output),
        Trial("two tokens", _given([TWO_TOKENS], **WIDE), output),
        Trial("two sentences", _given([TWO_TOKENS, [[0.0, 4], [2, 2]]], **WIDE), output),
        Trial("the inputs afterwards", _given([TWO_TOKENS], **WIDE), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
