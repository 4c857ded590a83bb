"""Observations that many checks share: what a function returns or a class makes, and what is left of the arguments."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from transformer_edu.book.exercises.checks.engine.compare import Unfit, as_number, as_tensor, change


def output(fn: Any, given: dict[str, Any]) -> Tensor:
    """What the candidate returns."""
    return as_tensor(fn(*given.values()))


def inputs_afterwards(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Whether the tensors that were handed over are as they were before the call."""
    tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
    before = {name: value.clone().double() for name, value in tensors.items()}
    fn(*given.values())
    return {f"{name}, after the call": change(before[name], value.double()) for name, value in tensors.items()}


def loss_value(fn: Any, given: dict[str, Any]) -> dict[str, float]:
    """The loss that the candidate returns, as a number."""
    return {"loss": as_number(fn(*given.values()))}


def loss_tensor(fn: Any, given: dict[str, Any]) -> Tensor:
    """The loss as it is: a tensor, at which .backward() can start."""
    loss = fn(*given.values())
    if not isinstance(loss, Tensor):
        raise Unfit(f"returned a {type(loss).__name__}, expected a tensor with one entry: .backward() starts there")
    return loss


def made_module(make: Any, *sizes: Any, **fields: Any) -> Any:
    """The module that the candidate makes."""
    module = make(*sizes, **fields)
    if not isinstance(module, nn.Module):
        raise Unfit(f"makes a {type(module).__name__}, expected a torch.nn.Module")
    return module


def read_list(result: Any, what: str) -> Sequence[Any]:
    """What the candidate returned, as a list; a tuple is welcome."""
    if result is None:
        raise Unfit(f"returned None, expected {what}: is the `return` missing?")
    if not isinstance(result, list | tuple):
        raise Unfit(f"returned a {type(result).__name__}, expected {what}")
    return result
