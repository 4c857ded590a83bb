"""Checks a reader's own test for leaks from the future; its known mistakes are in `future_test_mistakes`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.checks.components.leak_check_models import HONEST, LEAKING
from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit, as_number
from transformer_edu.checks.engine.observe import inputs_afterwards


def check_future_test(sees_the_future: Callable[..., Any]) -> None:
    """Check sees_the_future(model, ids) -> whether any output of the model depends on a later token.

    model(ids) turns ids (batch, seq) into logits (batch, seq, vocab); it is an nn.Module, ids lie in 0 .. vocab − 1.
    The test has to judge the model as it predicts, in evaluation mode, and to forgive rounding.
    """
    need_callable("sees_the_future", sees_the_future)
    FUTURE_TEST.check(sees_the_future)


@torch.no_grad()
def sees_the_future(model: nn.Module, ids: Tensor, tolerance: float = 1e-4) -> bool:
    """Change the tokens one place at a time, and see whether an output before that place moves."""
    was_training = model.training
    model.eval()
    before = model(ids)
    largest = 0.0
    for place in range(1, ids.shape[1]):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % before.shape[-1]
        largest = max(largest, float((model(changed) - before)[:, :place].abs().max()))
    model.train(was_training)
    return largest > tolerance


def _verdict(fn: Any, model: nn.Module, ids: Tensor) -> bool:
    """What the candidate says of one model; a tensor or array with one boolean is welcome."""
    result = fn(model, ids.clone())
    if result is None:
        raise Unfit("returned None, expected True or False: is the `return` missing?")
    if isinstance(result, Tensor) and result.numel() == 1:
        return bool(as_number(result))
    if type(result).__name__ not in ("bool", "bool_"):  # the second is NumPy's
        raise Unfit(f"returned a {type(result).__name__}, expected True or False")
    return bool(result)


def _judge(models: dict[str, Callable[[], nn.Module]]) -> Callable[[Any, dict[str, Any]], dict[str, Any]]:
    """What the candidate says of each of these models, every one freshly made."""

    def observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
        return {f"{name}: does it see the future": _verdict(fn, make(), given["ids"]) for name, make in models.items()}

    return observe


def _ids_afterwards(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return inputs_afterwards(partial(fn, HONEST["a causal model"]()), given)


SENTENCES = torch.tensor([[5, 8, 3, 9], [7, 2, 0, 0]])
CAUSAL_ONE = {name: make for name, make in HONEST.items() if name == "a causal model"}

FUTURE_TEST = Component(
    "future-leak test",
    reference=sees_the_future,
    trials=[
        Trial("six models that do not see the future (a vocabulary of 10)", {"ids": SENTENCES}, _judge(HONEST)),
        Trial("seven models that do (a vocabulary of 10)", {"ids": SENTENCES}, _judge(LEAKING)),
        Trial("a single token, which has no future", {"ids": torch.tensor([[5]])}, _judge(CAUSAL_ONE)),
        Trial("the ids afterwards", {"ids": SENTENCES}, _ids_afterwards),
    ],
)
