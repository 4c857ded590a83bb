"""What a norm cube shows: up to four sentences as small matrices of features, and the inputs that were changed."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformer_edu.book.figures.inputs import check_index, check_matrix, check_real, check_words
from transformer_edu.data.examples import hand_example

MAX_SENTENCES, MAX_TOKENS, MAX_FEATURES = 4, 4, 6
MIN_TOKENS = 2  # batch norm in training needs two values
MAX_VALUE = 1000.0
# Chosen, not drawn: features and sentences differ in scale, so that it matters over which numbers a norm averages.
OTHERS: tuple[tuple[tuple[str, ...], tuple[tuple[int, ...], ...]], ...] = (
    (("a", "small", "dog"), ((8, 1, 0, 1), (4, 6, 0, 1), (9, 0, 3, 2))),
    (("it", "does", "not", "sleep"), ((0, 1, 0, 0), (1, 0, 1, 0), (0, 2, 1, 0), (2, 0, 0, 1))),
)
Number = int | float
Edit = Sequence[Number]


def example_sentences() -> list[dict[str, Any]]:
    """The hand example and two sentences of other scales."""
    hand = hand_example()
    first = {"tokens": hand.tokens, "x": hand.x}
    return check_sentences([first, *({"tokens": tokens, "x": x} for tokens, x in OTHERS)])


def check_sentences(given: Any) -> list[dict[str, Any]]:
    """Up to 4 sentences of 2 to 4 tokens, all with the same number of features, as plain lists."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise TypeError(f"sentences must be a list of dicts with 'tokens' and 'x', got {given!r}")
    if not 1 <= len(given) <= MAX_SENTENCES:
        raise ValueError(f"sentences must be 1 to {MAX_SENTENCES} of them, got {len(given)}")
    sentences = [_sentence(f"sentences[{index}]", one) for index, one in enumerate(given)]
    widths = {len(row) for one in sentences for row in one["x"]}
    if len(widths) != 1 or not 2 <= max(widths) <= MAX_FEATURES:
        raise ValueError(f"sentences must all have the same 2 to {MAX_FEATURES} features, got {sorted(widths)}")
    return sentences


def _sentence(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not {"tokens", "x"} <= given.keys():
        raise TypeError(f"{name} must be a dict with 'tokens' and 'x', got {given!r}")
    tokens = check_words(f"{name}['tokens']", given["tokens"], MIN_TOKENS, MAX_TOKENS)
    x = check_matrix(f"{name}['x']", given["x"], MAX_VALUE)
    if len(x) != len(tokens):
        raise ValueError(f"{name}['x'] must have a row for each of the {len(tokens)} tokens, got {len(x)}")
    return {"tokens": tokens, "x": x}


def check_edits(given: Any, sentences: list[dict[str, Any]]) -> list[list[Number]]:
    """Changed inputs: [sentence, position, feature, value]."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"edits must be a list of [sentence, position, feature, value], got {given!r}")
    edits: list[list[Number]] = []
    for index, edit in enumerate(given):
        name = f"edits[{index}]"
        if not isinstance(edit, Sequence) or isinstance(edit, str) or len(edit) != 4:
            raise TypeError(f"{name} must be [sentence, position, feature, value], got {edit!r}")
        sentence = check_index(f"{name}, its sentence,", edit[0], len(sentences))
        x = sentences[sentence]["x"]
        place = check_place(name, edit[:3], len(sentences), len(x), len(x[0]))
        edits.append([*place, check_real(f"{name}, its value,", edit[3], -MAX_VALUE, MAX_VALUE)])
    return edits


def check_place(name: str, given: Any, rows: int, positions: int, features: int) -> list[int]:
    """[row, position, feature], each a whole number below its limit."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 3:
        raise TypeError(f"{name} must be three whole numbers [row, position, feature], got {given!r}")
    limits = zip(("row", "position", "feature"), given, (rows, positions, features), strict=True)
    return [check_index(f"{name}, its {what},", value, limit) for what, value, limit in limits]
