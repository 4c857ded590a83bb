"""Checks cross-entropy with label smoothing; its known mistakes are in `loss_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit, as_number
from transformer_edu.checks.engine.side_effects import gradient_of
from transformer_edu.training.loss import label_smoothing


def check_label_smoothing(fn: Callable[[Tensor, Tensor, int, float], Tensor]) -> None:
    """Check fn(logits, target, pad_id, smoothing) -> mean loss in nats over the tokens that are not padding.

    logits are (batch, seq, vocab), target is (batch, seq); the mass is spread as torch's cross_entropy does it. The
    loss is a tensor with one entry, at which .backward() can start.
    """
    need_callable("fn", fn)
    LOSS.check(fn)


def _loss(fn: Any, given: dict[str, Any]) -> dict[str, float]:
    return {"loss": as_number(fn(*given.values()))}


def _differentiable(fn: Any, given: dict[str, Any]) -> Tensor:
    loss = fn(*given.values())
    if not isinstance(loss, Tensor):
        raise Unfit(f"returned a {type(loss).__name__}, expected a tensor with one entry: .backward() starts there")
    return loss


def _trial(title: str, logits: list[Any], target: list[list[int]], smoothing: float, pad_id: int = 0) -> Trial:
    given = {"logits": torch.tensor(logits), "target": torch.tensor(target), "pad_id": pad_id, "smoothing": smoothing}
    return Trial(title, given, _loss)


ONE = [0.0, 1.0, 3.0, 0.5]  # the scores of four words; word 0 is padding
TWO = [1.0, 0.0, 0.0, 2.0]
LONG, SHORT = [ONE, TWO, TWO], [TWO, ONE, ONE]

LOSS = Component(
    "label smoothing",
    reference=label_smoothing,
    trials=[
        _trial("one token, no smoothing", [[ONE]], [[2]], 0.0),
        _trial("one token, smoothing 0.2", [[ONE]], [[2]], 0.2),
        _trial("two tokens, no smoothing", [[ONE, TWO]], [[2, 3]], 0.0),
        _trial("a real token and a padding token", [[ONE, TWO]], [[2, 0]], 0.0),
        _trial("the same with smoothing", [[ONE, TWO]], [[2, 0]], 0.2),
        _trial("two sentences of different length", [LONG, SHORT], [[2, 3, 1], [3, 0, 0]], 0.1),
        _trial("another padding id", [[ONE, TWO]], [[2, 3]], 0.1, pad_id=3),
        _trial("one score far above the others", [[[0.0, 0.0, 1000.0, 0.0]]], [[2]], 0.2),
    ],
    gradient=gradient_of("logits", call=_differentiable),
)
