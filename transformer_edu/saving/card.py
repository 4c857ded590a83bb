"""The card of a trained model, card.json: how it came about, its checksums, and the search that was best for it."""

import json
from pathlib import Path
from typing import Any

from transformer_edu.support.validation import check_positive_integer

MODEL, CARD, TOKENIZER = "model.safetensors", "card.json", "tokenizer.json"  # the files of a finished model
MAX_LENGTH_PENALTY = 10.0  # far beyond what helps (about 1); a power that float64 holds for answers of any length


def read_card(path: Path) -> dict[str, Any]:
    """What the training command wrote.

    Raises:
        ValueError: it is damaged, or was changed to something that no model can be used with.
        OSError: it cannot be read.
    """
    try:
        card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        check_card(card)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"folder must hold a finished model, but {path} is damaged: {error}") from error
    return card


def check_card(card: Any) -> None:
    """Raise unless everything in a card that is used later is of its kind; what is not there may be missing."""
    _expect("the card", card, isinstance(card, dict), "an object {...}")
    for key in ("weights_sha256", "tokenizer_sha256"):
        _expect(key, card.get(key), isinstance(card.get(key), str), "a checksum")
    for key in ("name", "command"):
        _expect(key, card.get(key), isinstance(card.get(key, ""), str), "a text")
    languages = card.get("languages", [])
    words = isinstance(languages, list) and all(isinstance(language, str) for language in languages)
    _expect("languages", languages, words and len(languages) in (0, 2), "two texts or none")
    search = card.get("search", {})
    _expect("search", search, isinstance(search, dict), "an object {...}")
    check_positive_integer("beam_size", search.get("beam_size", 1))
    check_length_penalty("length_penalty", search.get("length_penalty", 0))


def check_length_penalty(name: str, value: Any) -> None:
    """Raise unless `value` is a number from 0 to 10."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    if not 0 <= value <= MAX_LENGTH_PENALTY:
        raise ValueError(f"{name} must be from 0 to {MAX_LENGTH_PENALTY:g}, got {value}")


def _expect(name: str, value: Any, is_right: bool, expected: str) -> None:
    if not is_right:
        raise TypeError(f"{name} must be {expected}, got {value!r}"[:300])
