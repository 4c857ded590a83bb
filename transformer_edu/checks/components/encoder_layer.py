"""Checks the wiring of an encoder layer; its known mistakes are in `encoder_layer_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.observe import inputs_afterwards, output
from transformer_edu.checks.engine.side_effects import gradient_of
from transformer_edu.checks.engine.stubs import (
    by_largest,
    by_sum,
    calls,
    mean_of_tokens,
    squares,
)

Function = Callable[[Tensor], Tensor]
Norms = tuple[Function, Function]


def check_encoder_layer(fn: Callable[..., Any]) -> None:
    """Check fn(x, attend, feed_forward, norms), a post-norm encoder layer (paper, section 3.1).

    x is (batch, seq, d_model); attend, feed_forward and the two norms (a tuple) are functions of one such tensor.
    The answer is norms[1](y + feed_forward(y)) with y = norms[0](x + attend(x)).
    """
    need_callable("fn", fn)
    ENCODER_LAYER.check(fn)


def encoder_layer(x: Tensor, attend: Function, feed_forward: Function, norms: Norms) -> Tensor:
    """Attention, then feed-forward, each with a bypass and a norm after the sum."""
    y = norms[0](x + attend(x))
    return norms[1](y + feed_forward(y))


def _given(rows: list[Any]) -> dict[str, Any]:
    return {
        "x": torch.tensor(rows),
        "attend": mean_of_tokens(),
        "feed_forward": squares(),
        "norms": (by_sum(), by_largest()),
    }


TWO_TOKENS = [[1.0, 3], [3, 5]]

ENCODER_LAYER = Component(
    "encoder layer",
    reference=encoder_layer,
    trials=[
        Trial("two tokens, d_model 2", _given([TWO_TOKENS]), output),
        Trial("two sentences", _given([TWO_TOKENS, [[-2.0, 0], [4, 1]]]), output),
        Trial("how often each part is called", _given([TWO_TOKENS]), calls),
        Trial("x afterwards", _given([TWO_TOKENS]), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
