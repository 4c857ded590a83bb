"""From what a reader passes to arrays and labels that can be drawn, with errors that name the argument."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

Numbers = Tensor | np.ndarray | Sequence[Any] | range
"""What can be drawn as a curve: numbers in a tensor on any device, an array or a sequence."""

VISIBLE = str.maketrans({"\n": "↵", "\r": "↵", "\t": "⇥"})


def as_array(name: str, values: Any, dims: int) -> np.ndarray:
    """A float64 array with `dims` dimensions, none of them empty, from a tensor (any device), array or sequence."""
    try:
        array = np.asarray(unpack(values), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers (tensor, array or sequence), got {values!r}"[:300]) from error
    if array.ndim != dims:
        raise ValueError(f"{name} must have {dims} dimension(s), got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    return array


def unpack(values: Any) -> Any:
    """Tensors as arrays on the CPU without a gradient, also inside lists and tuples; all else unchanged."""
    if isinstance(values, Tensor):
        return values.detach().cpu().to(torch.float64).numpy()
    return [unpack(value) for value in values] if isinstance(values, list | tuple) else values


def as_finite(name: str, values: Any, dims: int) -> np.ndarray:
    """Like `as_array`, and without NaN or infinity."""
    array = as_array(name, values, dims)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, got {array[~np.isfinite(array)][0]}")
    return array


def as_weights(name: str, values: Any, dims: int) -> np.ndarray:
    """Attention weights: like `as_finite`, every one in [0, 1]."""
    array = as_finite(name, values, dims)
    wrong = array[(array < -1e-6) | (array > 1 + 1e-4)]
    if wrong.size:
        raise ValueError(f"{name} must hold weights in [0, 1] (after the softmax), got {wrong[0]:.4g}")
    return array


def as_labels(name: str, labels: Any, count: int) -> list[str]:
    """One literal label for each of `count` things; line breaks and tabs become visible."""
    if isinstance(labels, str) or not isinstance(labels, Sequence):
        raise TypeError(f"{name} must be a sequence of strings, got {labels!r}")
    if len(labels) != count:
        raise ValueError(f"{name} must hold {count} labels, one for each of them, got {len(labels)}: {list(labels)!r}")
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(f"{name} must hold strings, got {label!r} of type {type(label).__name__}")
    return [label.translate(VISIBLE) for label in labels]


def as_mapping(name: str, values: Any) -> Mapping[str, Any]:
    """A mapping from names to values that is not empty."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a mapping from names to values, got {type(values).__name__}")
    if not values:
        raise ValueError(f"{name} must not be empty, got {values!r}")
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"{name} must have strings as names, got {key!r} of type {type(key).__name__}")
    return values


def as_indices(name: str, values: Any, count: int) -> list[int]:
    """Whole numbers in 0 .. count - 1, at least one."""
    if isinstance(values, str) or not isinstance(values, Sequence | range):
        raise TypeError(f"{name} must be a sequence of whole numbers, got {values!r}")
    if not len(values):
        raise ValueError(f"{name} must not be empty, got {values!r}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(f"{name} must hold whole numbers (int), got {value!r} of type {type(value).__name__}")
        if not 0 <= int(value) < count:
            raise ValueError(f"{name} must hold numbers in 0..{count - 1}, got {value}")
    return [int(value) for value in values]
