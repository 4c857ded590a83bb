"""What an attention stepper shows: three tokens and five matrices of the hand example, or a reader's own."""

from typing import Any

from transformer_edu.book.figures.inputs import check_matrix, check_words
from transformer_edu.data.examples import hand_example

MAX_SIZE = 8
Number = int | float
Matrices = dict[str, list[list[Number]]]


def check_matrices(tokens: Any, **matrices: Any) -> tuple[list[str], Matrices]:
    """Tokens, and x, w_q, w_k, w_v, w_o as rows of plain numbers that fit each other; None is the hand example's."""
    hand = hand_example()
    words = check_words("tokens", hand.tokens if tokens is None else tokens, 1, MAX_SIZE)
    checked = {name: _matrix(name, getattr(hand, name) if m is None else m) for name, m in matrices.items()}
    if len(checked["x"]) != len(words):
        raise ValueError(f"x must have one row for each of the {len(words)} tokens, got {len(checked['x'])} rows")
    columns = {name: len(rows[0]) for name, rows in checked.items()}
    for name, before in (("w_q", "x"), ("w_k", "x"), ("w_v", "x"), ("w_o", "w_v")):
        if len(checked[name]) != columns[before]:
            raise ValueError(f"{name} must have {columns[before]} rows, {before}'s columns, got {len(checked[name])}")
    if columns["w_k"] != columns["w_q"]:
        raise ValueError(f"w_k must have {columns['w_q']} columns, as many as w_q, got {columns['w_k']}")
    return words, checked


def _matrix(name: str, value: Any) -> list[list[Number]]:
    """At most 8 rows of at most 8 numbers, whole ones as int."""
    rows = check_matrix(name, value)
    widths = {len(row) for row in rows}
    if not 1 <= len(rows) <= MAX_SIZE or len(widths) != 1 or not 1 <= max(widths) <= MAX_SIZE:
        raise ValueError(f"{name} must have 1 to {MAX_SIZE} rows of one length, 1 to {MAX_SIZE}, got {value!r}")
    return [[int(entry) if entry.is_integer() else entry for entry in row] for row in rows]
