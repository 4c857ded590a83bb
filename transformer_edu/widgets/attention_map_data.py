"""What an attention map shows: the recorded attention of the shipped model, or maps and words of a reader's own."""

from collections.abc import Sequence
from typing import Any

from transformer_edu import recordings
from transformer_edu.support.validation import check_choice
from transformer_edu.widgets.attention_weights import KINDS, Weights, map_name


def recorded(name: str) -> dict[str, Any]:
    """What the constructor needs of a recording that has "attention"."""
    data: dict[str, Any] = recordings.load(name)["data"]
    if "attention" not in data:
        raise ValueError(f"name must be a recording with 'attention', got {name!r}, which has {', '.join(data)}")
    return {
        "maps": data["attention"],
        "source_tokens": data["source_tokens"],
        "target_tokens": data["predicted_tokens"],
        "candidates": [step["best"] for step in data["steps"]],
        "source_name": "English",
        "target_name": "French",
    }


def check_candidates(given: Sequence[Any], target: list[str]) -> list[list[list[Any]]]:
    """For each target word its likeliest next words with their probabilities, or nothing at all."""
    try:
        rows = [[[str(word), float(probability)] for word, probability in row] for row in given]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"candidates must be a list of [word, probability] for each target token, got {given!r}"
        ) from error
    if rows and len(rows) != len(target):
        raise ValueError(f"candidates must have one list for each of the {len(target)} target tokens, got {len(rows)}")
    return rows


def choose_map(maps: dict[str, Weights], attention: str, layer: int | None) -> tuple[Weights, int]:
    """The map to show first, and its layer."""
    check_choice("attention", attention, KINDS)
    layers = [number for number in range(100) if map_name(attention, number) in maps]
    if not layers:
        raise ValueError(f"attention must be one that maps holds ({', '.join(maps)}), got {attention!r}")
    if layer is None:
        layer = layers[-1]
    check_choice("layer", layer, layers)
    return maps[map_name(attention, layer)], layer
