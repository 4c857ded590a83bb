"""What figures take as numbers: nested lists, or anything that gives them."""

from typing import Any


def as_lists(name: str, value: Any) -> Any:
    """Nested lists of a tensor or an array; other values as they are.

    Raises:
        TypeError: a tensor whose numbers cannot be read one by one: sparse, quantized, nested, or without any (meta).
    """
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
