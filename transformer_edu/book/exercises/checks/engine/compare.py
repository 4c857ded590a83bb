"""When are two findings the same?"""

import math
from dataclasses import dataclass
from numbers import Complex, Number, Real
from typing import Any

import torch
from torch import Tensor


class Unfit(Exception):  # noqa: N818 (not an error of the program: a finding, told as a sentence)
    """A candidate returned something that cannot be compared; the text says what."""


class Misshapen(str):
    """What an `Unfit` says, in the place of a result."""


@dataclass(frozen=True)
class Raised:
    """The candidate raised an exception."""

    error: Exception

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


@dataclass(frozen=True)
class Change:
    """By how much a result changed; two changes are the same when both are none, or both are some."""

    amount: float

    @property
    def visible(self) -> bool:
        """More than rounding (a NaN counts as a change)."""
        return not self.amount <= 1e-5

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Change) and self.visible == other.visible

    def __hash__(self) -> int:
        return hash(self.visible)

    def __str__(self) -> str:
        return f"changes, by up to {self.amount:.4f}" if self.visible else "stays as it is"


def change(before: Tensor, after: Tensor) -> Change:
    """The largest change of an entry."""
    before, after = as_tensor(before), as_tensor(after)
    if before.shape != after.shape:
        raise Unfit(f"the shape changed from {tuple(before.shape)} to {tuple(after.shape)}")
    return Change(float((before - after).abs().max()))


def agree(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two findings are the same. In dictionaries, a None on either side is not compared."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(
            a[name] is None or b[name] is None or agree(a[name], b[name], tolerance) for name in a
        )
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return same_numbers(a, b, tolerance)
    if isinstance(a, Raised) and isinstance(b, Raised):
        return str(a) == str(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance)
    return bool(a == b)


def differing(a: Any, b: Any, tolerance: float) -> list[str]:
    """The names of the findings in which two dictionaries differ; none for anything else."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return []
    return [name for name in a if not agree({name: a[name]}, {name: b.get(name)}, tolerance)]


def same_numbers(a: Tensor, b: Tensor, tolerance: float) -> bool:
    """Whether two tensors have one shape and, up to rounding, the same real entries (a NaN equals a NaN)."""
    if a.shape != b.shape or a.is_complex() or b.is_complex():
        return False
    return torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance / 10, equal_nan=True)


def read_tensor(result: Any, what: str = "a tensor") -> Tensor:
    """What the candidate returned, as a tensor of real numbers or truth values; lists and arrays are welcome."""
    if result is None:
        raise Unfit(f"returned None, expected {what}: is the `return` missing?")
    try:
        tensor = torch.as_tensor(result)
    except (TypeError, ValueError, RuntimeError):
        raise Unfit(f"returned a {type(result).__name__}, expected {what}") from None
    if tensor.is_complex():
        raise Unfit(f"returned complex numbers ({tensor.dtype}), expected {what} of real ones: is `.real` missing?")
    if tensor.is_meta:
        raise Unfit(f"returned a tensor on the device 'meta', which holds no numbers, expected {what}")
    return tensor


def as_tensor(result: Any, what: str = "a tensor") -> Tensor:
    """What the candidate returned, as a dense, detached tensor on the CPU, a copy that it cannot change later."""
    tensor = read_tensor(result, what).detach()
    tensor = tensor.dequantize() if tensor.is_quantized else tensor
    return (tensor if tensor.layout is torch.strided else tensor.to_dense()).cpu().clone()


def as_number(result: Any) -> float:
    """What the candidate returned, as a float; a tensor with one entry is welcome."""
    if isinstance(result, Tensor) and result.numel() == 1:
        return float(as_tensor(result, "one number"))
    if isinstance(result, Number) and (isinstance(result, Real) or not isinstance(result, Complex)):
        return float(result)  # type: ignore[arg-type]
    what = f"a tensor of shape {tuple(result.shape)}" if isinstance(result, Tensor) else f"a {type(result).__name__}"
    raise Unfit(f"returned {'None' if result is None else what}, expected one number")
