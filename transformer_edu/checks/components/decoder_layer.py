"""Checks the wiring of a decoder layer; its known mistakes are in the two modules `decoder_layer*mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.observe import inputs_afterwards, output
from transformer_edu.checks.engine.side_effects import gradient_of
from transformer_edu.checks.engine.stubs import (
    attention,
    by_largest,
    by_length,
    by_sum,
    calls,
    masked_attention,
    squares,
)

Function = Callable[[Tensor], Tensor]
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
Norms = tuple[Function, ...]  # three


def check_decoder_layer(fn: Callable[..., Any]) -> None:
    """Check fn(x, memory, self_attention, cross_attention, feed_forward, norms), a post-norm decoder layer.

    x is (batch, seq, d_model), memory (batch, source_seq, d_model). Both attentions are functions of query, key and
    value (self_attention masks by itself), feed_forward and the three norms (a tuple) are functions of one tensor.
    """
    need_callable("fn", fn)
    DECODER_LAYER.check(fn)


def decoder_layer(
    x: Tensor,
    memory: Tensor,
    self_attention: Attention,
    cross_attention: Attention,
    feed_forward: Function,
    norms: Norms,
) -> Tensor:
    """Self-attention, attention to the memory, feed-forward, each with a bypass and a norm after the sum."""
    y = norms[0](x + self_attention(x, x, x))
    z = norms[1](y + cross_attention(y, memory, memory))
    return norms[2](z + feed_forward(z))


def _given(x: list[Any], memory: list[Any]) -> dict[str, Any]:
    return {
        "x": torch.tensor(x),
        "memory": torch.tensor(memory),
        "self_attention": masked_attention(),
        "cross_attention": attention(),
        "feed_forward": squares(),
        "norms": (by_sum(), by_largest(), by_length()),
    }


TARGET = [[1.0, 0], [2, 1]]
MEMORY = [[0.0, 2], [1, 3], [-1, 1]]
MORE_TARGET = [[0.0, 3], [-1, 1]]
MORE_MEMORY = [[1.0, 1], [2, -1], [0, 1]]

DECODER_LAYER = Component(
    "decoder layer",
    reference=decoder_layer,
    trials=[  # equal lengths first: there a mix-up of target and memory shows as numbers, not as a shape error
        Trial("two target tokens, two of the source", _given([TARGET], [MEMORY[:2]]), output),
        Trial("two target tokens, three of the source", _given([TARGET], [MEMORY]), output),
        Trial("two sentences", _given([TARGET, MORE_TARGET], [MEMORY, MORE_MEMORY]), output),
        Trial("how often each part is called", _given([TARGET], [MEMORY]), calls),
        Trial("x and memory afterwards", _given([TARGET], [MEMORY]), inputs_afterwards),
    ],
    gradient=gradient_of("x", "memory"),
)
