"""Checks the probabilities that a next token is drawn from: temperature, top-k and top-p."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.observe import inputs_afterwards, output
from transformer_edu.decoding.sampling import sampling_probabilities

Logits = list[Any]


def check_sampling_probabilities(fn: Callable[..., Tensor]) -> None:
    """Check fn(logits, temperature, top_k, top_p) -> probabilities of the same shape (..., vocab).

    The logits are divided by the temperature; of their softmax the top_k most probable tokens are kept (None: all,
    and so if there are fewer); of these, with probabilities that sum to one again, the fewest most probable that reach
    top_p together (None: all). What is kept sums to one, everything else is 0. The logits stay as they are.
    """
    need_callable("fn", fn)
    SAMPLING.check(fn)


def _trial(
    title: str,
    logits: Logits,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    observe: Callable[[Any, dict[str, Any]], Any] = output,
) -> Trial:
    given = {"logits": torch.tensor(logits), "temperature": temperature, "top_k": top_k, "top_p": top_p}
    return Trial(title, given, observe)


SAMPLING = Component(
    "sampling probabilities",
    reference=sampling_probabilities,
    trials=[
        _trial("a temperature of 2, one row of three tokens", [0.0, 2.0, 1.0], 2.0),
        _trial("a temperature of 1/2", [[0.0, 2.0, 1.0]], 0.5),
        _trial("the two most probable tokens", [[0.0, 2.0, -1.0, 1.0]], top_k=2),
        _trial("the most probable token alone", [[0.5, 2.0, 1.0]], top_k=1),
        _trial("top_p of 0.8", [[0.4, 1.6, -2.0, 1.0]], top_p=0.8),
        _trial("a token more probable than top_p", [[0.0, 3.0, 1.0]], top_p=0.6),
        _trial("a high temperature, then top_p", [[0.0, 2.0, 1.0, -1.0]], 2.0, top_p=0.8),
        _trial("top_k, then top_p", [[0.6, 1.0, 0.0, 0.3, 0.8]], top_k=3, top_p=0.6),
        _trial("two rows of different size, top_k", [[0.0, 2.0, 1.0], [5.0, 3.0, 4.0]], top_k=2),
        _trial(
            "two sentences of two positions",
            [[[0.0, 2.0, 1.0], [1.5, 0.5, -1.0]], [[3.0, 2.0, 2.5], [0.2, 0.0, 0.7]]], 1.5, 2, 0.62,
        ),
        _trial("top_k beyond the vocabulary", [[0.0, 2.0, 1.0]], top_k=5),
        _trial("the logits after the call", [[0.0, 2.0, 1.0]], 2.0, 2, 0.9, inputs_afterwards),
    ],
)  # fmt: skip
