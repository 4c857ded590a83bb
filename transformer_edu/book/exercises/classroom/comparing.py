"""How an answer differs from the right one, in words."""

import math
from typing import Any

from transformer_edu.book.exercises.classroom.observing import Observed

RELATIVE = 1e-3
NOISE = 1e-5  # of the largest number of a tensor
ZERO = 1e-7
SHOWN = 4  # digits


def difference(wanted: Observed, seen: Observed) -> str | None:
    """What is wrong with an answer in one case, in a phrase about "it" that gives no value away; None if nothing is."""
    if "error" in seen:
        return str(seen["error"])
    found = _differs(wanted["output"], seen.get("output"))
    if found:
        return found
    if seen.get("changed") is not False:
        return "its answer is right, but it changes an argument in place: work on a copy"
    for slope, other in zip(wanted.get("gradients", []), seen.get("gradients") or [None] * 99, strict=False):
        if _differs(slope, other):
            return "its output is right, and the gradient that comes back through it is not"
    return None


def shown(value: Any) -> str:
    """A plain value, short enough for a line or two."""
    if isinstance(value, dict) and "values" in value:
        shape = " × ".join(map(str, value["shape"])) or "one number"
        return f"{shape}: {_nested(value['values'], value['shape'])}"
    if isinstance(value, dict):
        return ", ".join(f"{name} ({shown(item)})" for name, item in value["dict"].items())
    if isinstance(value, float):
        return _digits(value)
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "; ".join(map(shown, value))
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return repr(value)


def _differs(wanted: Any, got: Any) -> str | None:
    if _is_tensor(wanted):
        return _differs_tensor(wanted, got)
    if isinstance(wanted, bool) or wanted is None or isinstance(wanted, str):
        if type(got) is type(wanted):
            return None if got == wanted else f"{_named(wanted)} that it returns is wrong"
        return f"it returns {_named(got)}, and {_named(wanted)} is wanted"
    if isinstance(wanted, int | float):
        got = got["values"][0] if _is_tensor(got) and len(got["values"]) == 1 else got
        if isinstance(got, bool) or not isinstance(got, int | float):
            return f"it returns {_named(got)}, and a number is wanted"
        return None if _near(wanted, got) else "the number that it returns is wrong"
    if isinstance(wanted, list):
        if _is_tensor(got) and len(got["shape"]) == 1:
            got = got["values"]
        if not isinstance(got, list):
            return f"it returns {_named(got)}, and {_named(wanted)} is wanted"
        if len(got) != len(wanted):
            return f"it returns {len(got)} items, and {len(wanted)} are wanted"
        found = [_differs(item, other) for item, other in zip(wanted, got, strict=True)]
        return next(
            (f"part {place} of what it returns: {text}" for place, text in enumerate(found, start=1) if text), None
        )
    return None if wanted == got else "it returns something else"


def _differs_tensor(wanted: Any, got: Any) -> str | None:
    if not _is_tensor(got):
        return f"it returns {_named(got)}, and a tensor is wanted"
    if got["shape"] != wanted["shape"]:
        return f"its output has the shape {tuple(got['shape'])}, and {tuple(wanted['shape'])} is wanted"
    if (wanted["dtype"] == "torch.bool") != (got["dtype"] == "torch.bool"):
        return f"its output is of {got['dtype']}, and {wanted['dtype']} is wanted"
    if wanted["dtype"] == "torch.int64" and got["dtype"].startswith("torch.float"):
        return f"its output is of {got['dtype']}, and whole numbers are wanted"
    pairs = list(zip(wanted["values"], got["values"], strict=True))
    largest = max((abs(number) for number in wanted["values"] if math.isfinite(number)), default=0.0)
    wrong = sum(not _near(*pair, NOISE * largest) for pair in pairs)
    if not wrong:
        return None
    if any(isinstance(other, float) and math.isnan(other) for _, other in pairs):
        return "there are NaNs in its output"
    return f"{wrong} of the {len(pairs)} numbers of its output are wrong" if len(pairs) > 1 else "its number is wrong"


def _near(wanted: float | int, got: float | int, noise: float = 0.0) -> bool:
    if isinstance(wanted, int):
        return wanted == got
    if math.isnan(wanted):
        return math.isnan(got)
    try:
        return math.isclose(wanted, got, rel_tol=RELATIVE, abs_tol=max(noise, ZERO))
    except OverflowError:  # a whole number that no float is near to
        return False


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"dtype", "shape", "values"}


def _named(value: Any) -> str:
    """What kind of value this is, with its article."""
    if value is None:
        return "nothing (None)"
    if _is_tensor(value):
        return f"a tensor of shape {tuple(value['shape'])}"
    return {bool: "a truth value", int: "a number", float: "a number", str: "a text", list: "a tuple or list"}.get(
        type(value), "something else"
    )


def _nested(values: list[Any], shape: list[int]) -> str:
    if len(shape) <= 1:
        return "[" + ", ".join(_digits(number) for number in values) + "]"
    size = math.prod(shape[1:])
    rows = [values[start : start + size] for start in range(0, len(values), size)] if size else []
    return "[" + ", ".join(_nested(row, shape[1:]) for row in rows) + "]"


def _digits(value: Any) -> str:
    return f"{value + 0.0:.{SHOWN}g}" if isinstance(value, float) else str(value)
