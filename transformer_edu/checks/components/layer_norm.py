"""Checks layer normalization, written as a function; its known mistakes are in `layer_norm_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.observe import inputs_afterwards, output
from transformer_edu.checks.engine.side_effects import gradient_of


def check_layer_norm(layer_norm: Callable[..., Any]) -> None:
    """Check layer_norm(x, gamma, beta, eps=1e-5) with x (..., d), gamma and beta (d,) -> (..., d).

    Mean and variance are taken over the last dimension, the variance is the biased one (divide by d), and eps stands
    under the root.
    """
    need_callable("layer_norm", layer_norm)
    LAYER_NORM.check(layer_norm)


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """γ · (x − mean) / √(variance + ε) + β, over the last dimension."""
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return gamma * centred / torch.sqrt(variance + eps) + beta


def _given(rows: list[Any], scale: float = 1.0, **more: Any) -> dict[str, Any]:
    x = torch.tensor(rows) * scale
    d = x.shape[-1]
    return {"x": x, "gamma": torch.ones(d), "beta": torch.zeros(d), **more}


TOKEN = [1.0, 7, 7, 9]  # mean 6, variance 9
OTHER = [2.0, 2, 6, 6]  # mean 4, variance 4
GAMMA, BETA = torch.tensor([1.0, 2, 3, 4]), torch.tensor([10.0, 20, 30, 40])
SENTENCES = [[TOKEN, OTHER], [[0.0, 5, 1, 2], [-3.0, 0, 8, 3]]]
SQUARE = [[[1.0, 2, 6], [4, 0, 5], [7, 8, 3]]]

LAYER_NORM = Component(
    "layer normalization",
    reference=layer_norm,
    trials=[
        Trial("one token of four features, γ = 1, β = 0", _given([[TOKEN]]), output),
        Trial("three tokens of three features", _given(SQUARE), output),
        Trial("two sentences of two tokens", _given(SENTENCES), output),
        Trial("γ and β", _given([[TOKEN]], gamma=GAMMA, beta=BETA), output),
        Trial(
            "a token of small numbers, with a variance about as small as eps", _given([[TOKEN]], 1e-3, eps=1e-5), output
        ),
        Trial("an eps that can be seen", _given([[TOKEN]], eps=7.0), output),
        Trial("a token whose features are all equal", _given([[[5.0, 5, 5, 5]]]), output, tolerance=1e-2),
        Trial("two tokens without a batch dimension", _given([TOKEN, OTHER]), output),
        Trial("the inputs afterwards", _given([[TOKEN]], gamma=GAMMA, beta=BETA), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
