"""Checks of what `NormCube` is given."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_edu.support.validation import check_positive_integer
from transformer_edu.widgets.lists import as_lists

MAX_SENTENCES, MAX_TOKENS, MAX_FEATURES = 4, 4, 6
MIN_TOKENS = 2  # batch norm in training needs two values
MAX_VALUE = 1000.0
Number = int | float
Edit = Sequence[Number]


def check_sentences(given: Any) -> list[dict[str, Any]]:
    """Up to 4 sentences of 2 to 4 tokens, all with the same number of features, as plain lists."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise TypeError(f"sentences must be a list of dicts with 'tokens' and 'x', got {given!r}")
    if not 1 <= len(given) <= MAX_SENTENCES:
        raise ValueError(f"sentences must be 1 to {MAX_SENTENCES} of them, got {len(given)}")
    sentences = [_sentence(f"sentences[{index}]", one) for index, one in enumerate(given)]
    widths = {len(row) for one in sentences for row in one["x"]}
    if len(widths) != 1 or not 2 <= next(iter(widths)) <= MAX_FEATURES:
        raise ValueError(f"sentences must all have the same 2 to {MAX_FEATURES} features, got {sorted(widths)}")
    return sentences


def _sentence(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not {"tokens", "x"} <= given.keys():
        raise TypeError(f"{name} must be a dict with 'tokens' and 'x', got {given!r}")
    tokens, x = given["tokens"], given["x"]
    if isinstance(tokens, str) or not isinstance(tokens, Sequence) or not all(isinstance(t, str) for t in tokens):
        raise TypeError(f"{name}['tokens'] must be a list of strings, got {tokens!r}")
    if not MIN_TOKENS <= len(tokens) <= MAX_TOKENS:
        raise ValueError(
            f"{name}['tokens'] must be {MIN_TOKENS} to {MAX_TOKENS} strings, got {len(tokens)}: {tokens!r}"
        )
    rows = as_lists(f"{name}['x']", x)
    try:
        rows = [[float(value) for value in row] for row in rows]
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name}['x'] must be a matrix of numbers (positions, features), got {x!r}") from error
    if len(rows) != len(tokens):
        raise ValueError(f"{name}['x'] must have a row for each of the {len(tokens)} tokens, got {len(rows)}")
    for value in (value for row in rows for value in row):
        check_value(f"{name}['x']", value)
    return {"tokens": list(tokens), "x": rows}


def check_value(name: str, value: Any) -> float:
    """A finite number that the figure has room for."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must hold numbers, got {value!r}")
    if not (math.isfinite(value) and abs(value) <= MAX_VALUE):
        raise ValueError(f"{name} must hold numbers from {-MAX_VALUE:g} to {MAX_VALUE:g}, got {value}")
    return float(value)


def check_edits(given: Any, sentences: list[dict[str, Any]]) -> list[list[Number]]:
    """Changed inputs: [sentence, position, feature, value]."""
    edits: list[list[Number]] = []
    for index, edit in enumerate(given):
        name = f"edits[{index}]"
        if not isinstance(edit, Sequence) or isinstance(edit, str) or len(edit) != 4:
            raise TypeError(f"{name} must be [sentence, position, feature, value], got {edit!r}")
        check_positive_integer(f"{name}, its sentence,", edit[0], minimum=0)
        if edit[0] >= len(sentences):
            raise ValueError(f"{name}, its sentence, must be from 0 to {len(sentences) - 1}, got {edit[0]}")
        x = sentences[int(edit[0])]["x"]
        _, position, feature = check_place(name, edit[:3], len(sentences), len(x), len(x[0]))
        edits.append([int(edit[0]), position, feature, check_value(name, edit[3])])
    return edits


def check_place(name: str, given: Any, rows: int, positions: int, features: int) -> list[int]:
    """[row, position, feature], each a whole number below its limit."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 3:
        raise TypeError(f"{name} must be three whole numbers [row, position, feature], got {given!r}")
    for what, value, limit in zip(("row", "position", "feature"), given, (rows, positions, features), strict=True):
        check_positive_integer(f"{name}, its {what},", value, minimum=0)
        if value >= limit:
            raise ValueError(f"{name}, its {what}, must be from 0 to {limit - 1}, got {value}")
    return [int(value) for value in given]
