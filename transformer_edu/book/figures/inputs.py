"""Checks of what figures are given: each error names the argument, its value and what was expected."""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from transformer_edu.support.validation import check_choice, check_positive_integer

MAX_TOKENS = 24


def check_range(name: str, value: Any, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
    if not low <= int(value) <= high:
        raise ValueError(f"{name} must be from {low} to {high}, got {value}")
    return int(value)


def check_index(name: str, value: Any, count: int) -> int:
    """A whole number from 0 to count - 1."""
    return check_range(name, value, 0, count - 1)


def check_one_of(name: str, value: Any, choices: Sequence[int]) -> None:
    """Raise unless `value` is one of these whole numbers, and no bool or float that equals it."""
    check_positive_integer(name, value, minimum=min(choices))
    check_choice(name, value, choices)


def check_real(name: str, value: Any, low: float, high: float) -> float:
    """A number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")
    if not low <= value <= high:  # type: ignore[operator]
        raise ValueError(f"{name} must be from {low:g} to {high:g}, got {value}")
    return float(value)


def check_text(name: str, value: Any, least: int, most: int) -> str:
    """A str of so many characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {value!r} of type {type(value).__name__}")
    if not least <= len(value) <= most:
        raise ValueError(f"{name} must have {least} to {most} characters, got {len(value)}: {value!r}")
    return value


def check_words(name: str, words: Any, least: int = 1, most: int = MAX_TOKENS) -> list[str]:
    """So many strings."""
    if isinstance(words, str) or not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"{name} must be a list of strings, got {words!r}")
    if not least <= len(words) <= most:
        count = f"{least} to {most}" if least < most else least
        raise ValueError(f"{name} must be {count} strings, got {len(words)}: {words!r}")
    return list(words)


def check_sentence(name: str, sentence: Any, vocabulary: Any, most: int = MAX_TOKENS) -> list[str]:
    """The words of a sentence that a model's vocabulary knows."""
    if not isinstance(sentence, str):
        raise TypeError(f"{name} must be a sentence (str), got {sentence!r} of type {type(sentence).__name__}")
    words = sentence.split()
    if not 1 <= len(words) <= most:
        raise ValueError(f"{name} must be 1 to {most} words, got {len(words)}: {sentence!r}")
    unknown = vocabulary.unknown_words(sentence)
    if unknown:
        raise ValueError(f"{name} must consist of words that the model knows, got {unknown} in {sentence!r}")
    return words


def check_recording(name: str, given: Any, keys: Sequence[str], maker: str) -> dict[str, Any]:
    """Of what `maker` recorded, the parts that a figure needs; what is in them is `maker`'s own work, and not read."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dict, as {maker} makes it, got {type(given).__name__}")
    missing = [key for key in keys if key not in given]
    if missing:
        raise ValueError(f"{name} must have {', '.join(keys)}, got none of {', '.join(missing)}")
    return {key: given[key] for key in keys}


def check_numbers(name: str, value: Any, dimensions: int, expected: str) -> Any:
    """Nested lists of float, so many dimensions deep, from lists, tensors or arrays; `expected` is what they must be.

    Raises:
        TypeError: something else, or a tensor whose numbers cannot be read: sparse, quantized, nested, or meta.
    """
    nested = as_lists(name, value)
    try:
        return _floats(nested, dimensions)
    except (TypeError, ValueError, OverflowError) as error:
        shape = f" of shape {tuple(value.shape)}" if hasattr(value, "shape") else ""
        raise TypeError(f"{name} must be {expected}, got {type(value).__name__}{shape}: {value!r}"[:400]) from error


def check_matrix(name: str, value: Any, bound: float = math.inf) -> list[list[float]]:
    """Rows of finite numbers, none beyond ±`bound`."""
    rows: list[list[float]] = check_numbers(name, value, 2, "a matrix of numbers (a list of rows or a 2-D tensor)")
    for number in (number for row in rows for number in row):
        if not (math.isfinite(number) and abs(number) <= bound):
            limits = "finite numbers" if bound == math.inf else f"numbers from {-bound:g} to {bound:g}"
            raise ValueError(f"{name} must hold {limits}, got {number}")
    return rows


def as_lists(name: str, value: Any) -> Any:
    """Nested lists of a tensor or an array; other values as they are."""
    if not hasattr(value, "tolist"):
        return value
    try:
        return value.tolist()
    except (RuntimeError, TypeError) as error:
        kind = [str(getattr(value, fact)) for fact in ("layout", "dtype", "device") if hasattr(value, fact)]
        raise TypeError(
            f"{name} must be a list or a dense tensor whose numbers can be read, got {type(value).__name__} "
            f"({', '.join(kind)}): {str(error).partition(chr(10))[0]}"
        ) from error


def _floats(value: Any, dimensions: int) -> Any:
    return [_floats(part, dimensions - 1) for part in value] if dimensions else float(value)
