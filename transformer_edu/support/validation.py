"""Checks of arguments: each error names the argument, its value and what was expected."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

from transformer_edu.support.plain import is_plain

INTEGER_DTYPES = (torch.int64, torch.int32)


def check_positive_integer(name: str, value: Any, minimum: int = 1) -> None:
    """Raise unless `value` is a whole number (not a float such as 1e4, not a bool) of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral | torch.SymInt):  # SymInt: a size unknown at export
        raise TypeError(f"{name} must be a whole number (int), got {value!r} of type {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")


def check_number(name: str, value: Any, *, above: float = 0.0) -> None:
    """Raise unless `value` is a finite number greater than `above`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    if not above < value < math.inf:  # type: ignore[operator]  # float(value) would fail for 10 ** 400
        raise ValueError(f"{name} must be a finite number greater than {above}, got {value}")


def check_probability(name: str, value: Any) -> None:
    """Raise unless `value` lies in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number in [0, 1), got {value!r} of type {type(value).__name__}")
    if not 0.0 <= value < 1.0:  # type: ignore[operator]
        raise ValueError(f"{name} must be in [0, 1), got {value}")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_boolean(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} of type {type(value).__name__}")


def check_divisible(name: str, value: int, divisor_name: str, divisor: int) -> None:
    """Raise unless `value` is a multiple of `divisor`."""
    if value % divisor:
        raise ValueError(f"{name} must be divisible by {divisor_name}, got {name}={value} and {divisor_name}={divisor}")


def check_tensor(name: str, value: Any) -> None:
    """Raise unless `value` is a dense tensor: one number in each place, rows of one length."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}: {value!r}"[:300])
    if value.layout is not torch.strided or value.is_nested:
        kind = "a nested one" if value.is_nested else f"one of layout {value.layout}"
        raise TypeError(f"{name} must be a dense tensor (torch.strided), got {kind}")


def check_floating_point(name: str, value: Tensor) -> None:
    """Raise unless a tensor holds floating-point numbers."""
    if not value.is_floating_point():
        raise TypeError(f"{name} must hold floating-point numbers, got dtype {value.dtype}")


def check_features(name: str, value: Any, d_model: int) -> None:
    """Raise unless `value` is a floating-point tensor (..., d_model)."""
    check_tensor(name, value)
    check_floating_point(name, value)
    if value.dim() == 0 or value.shape[-1] != d_model:
        raise ValueError(f"{name} must have shape (..., d_model={d_model}), got {tuple(value.shape)}")


def check_even(name: str, value: int) -> None:
    """Raise unless `value` can be cut into (sine, cosine) pairs."""
    if value % 2:
        raise ValueError(f"{name} must be even (sine and cosine come in pairs), got {value}")


def check_vectors(name: str, value: Any, d_model: int) -> None:
    """Raise unless `value` is a floating-point tensor (batch, seq, d_model) with no empty dimension."""
    check_tensor(name, value)
    check_floating_point(name, value)
    if value.dim() != 3 or value.shape[-1] != d_model:
        raise ValueError(f"{name} must have shape (batch, seq, d_model={d_model}), got {tuple(value.shape)}")
    check_not_empty(name, value)


def check_not_empty(name: str, value: Tensor) -> None:
    """Raise when a tensor has a dimension of size 0."""
    if value.numel() == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(value.shape)}")


def check_ids(name: str, value: Any, vocab_size: int) -> None:
    """Raise unless `value` is an integer tensor (batch, seq) of ids in 0 .. vocab_size - 1.

    The range is read only where that is free: of plain ids on the CPU. On a GPU it would make the processor wait.
    """
    check_tensor(name, value)
    if value.dtype not in INTEGER_DTYPES:
        raise TypeError(f"{name} must hold token ids of dtype int64 or int32, got {value.dtype}")
    if value.dim() != 2:
        raise ValueError(f"{name} must have shape (batch, seq), got {tuple(value.shape)}")
    check_not_empty(name, value)
    if value.is_cpu and is_plain(value):
        smallest, largest = int(value.min()), int(value.max())
        if smallest < 0 or largest >= vocab_size:
            wrong = smallest if smallest < 0 else largest
            raise ValueError(
                f"{name} must hold ids in 0..{vocab_size - 1} (vocabulary of {vocab_size}), got id {wrong}"
            )


def check_mask(name: str, mask: Any, scores_shape: Sequence[int]) -> None:
    """Raise unless `mask` is a boolean tensor that broadcasts to the shape of the scores."""
    check_tensor(name, mask)
    if mask.dtype != torch.bool:
        raise TypeError(f"{name} must be boolean with True = may attend, got dtype {mask.dtype}")
    check_broadcasts(name, mask, scores_shape)


def check_broadcasts(name: str, value: Tensor, scores_shape: Sequence[int]) -> None:
    """Raise unless a tensor broadcasts to the shape of the scores."""
    try:
        value.expand(tuple(scores_shape))
    except RuntimeError:
        raise ValueError(
            f"{name} must broadcast to the scores' shape (..., q_len, k_len) = {tuple(scores_shape)}, "
            f"got shape {tuple(value.shape)}"
        ) from None
