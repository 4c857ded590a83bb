"""Observations that many checks share: what a function returns, and what it leaves of its arguments."""

from typing import Any

from torch import Tensor

from transformer_edu.checks.engine.compare import as_tensor, change


def output(fn: Any, given: dict[str, Any]) -> Tensor:
    """What the candidate returns."""
    return as_tensor(fn(*given.values()))


def inputs_afterwards(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Whether the tensors that were handed over are as they were before the call."""
    tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
    before = {name: value.clone().double() for name, value in tensors.items()}
    fn(*given.values())
    return {f"{name}, after the call": change(before[name], value.double()) for name, value in tensors.items()}
