"""What an attention map accepts: recorded weights, their words, moments of training."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_edu.support.validation import check_choice, check_positive_integer
from transformer_edu.widgets.lists import as_lists

KINDS = ("encoder self", "decoder self", "cross")
MAP_NAME = re.compile(r"encoder\.\d+\.self|decoder\.\d+\.(?:self|cross)")
MAX_TOKENS = 24
TOLERANCE = 0.02  # how far a row of weights may be from summing to 1: enough for bfloat16

Weights = list[list[list[float]]]  # (heads, q_len, k_len)


def map_name(attention: str, layer: int) -> str:
    """What `record_attention` calls this attention of this layer, as in "decoder.0.cross"."""
    return f"{'encoder' if attention.startswith('encoder') else 'decoder'}.{layer}.{attention.split()[-1]}"


def check_words(name: str, tokens: Any) -> list[str]:
    """Up to 24 words, without the begin token."""
    if isinstance(tokens, str) or not isinstance(tokens, Sequence) or not all(isinstance(one, str) for one in tokens):
        raise TypeError(f"{name} must be a list of strings, got {tokens!r}")
    if not 1 <= len(tokens) <= MAX_TOKENS:
        raise ValueError(f"{name} must be 1 to {MAX_TOKENS} strings, got {len(tokens)}: {tokens!r}")
    if tokens[0] == "<bos>":
        raise ValueError(f"{name} must be the words that are written, without the begin token, got {tokens!r}")
    return list(tokens)


def check_maps(name: str, maps: Any, source: list[str], target: list[str]) -> dict[str, Weights]:
    """Every map as lists, its shape checked against the sentences."""
    if not isinstance(maps, Mapping) or not maps:
        raise TypeError(f"{name} must be a dict of attention weights, as record_attention collects, got {maps!r}")
    checked = {}
    for key, weights in maps.items():
        if not isinstance(key, str) or not MAP_NAME.fullmatch(key):
            raise ValueError(f"{name} must have keys like 'encoder.0.self' or 'decoder.1.cross', got {key!r}")
        q_len = len(source if key.startswith("encoder") else target)
        k_len = len(target if key.startswith("decoder") and key.endswith("self") else source)
        checked[key] = check_weights(f"{name}[{key!r}]", weights, q_len, k_len)
    return checked


def check_weights(name: str, given: Any, q_len: int, k_len: int) -> Weights:
    """Weights (heads, q_len, k_len) with 4 decimals; a row sums to one, or to zero where nothing may be looked at."""
    values = as_lists(name, given)
    try:
        weights = [[[round(float(value), 4) for value in row] for row in head] for head in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} must be weights (heads, q_len, k_len) of one sentence, got {type(given).__name__}"
            f"{f' of shape {tuple(given.shape)}' if hasattr(given, 'shape') else ''}; of a batch take weights[0]"
        ) from error
    if not weights or any(len(head) != q_len or any(len(row) != k_len for row in head) for head in weights):
        raise ValueError(f"{name} must have shape (heads, {q_len}, {k_len}), from the tokens, got {_shape(values)}")
    for row in (row for head in weights for row in head):
        total = math.fsum(row)
        if not (min(row) >= 0 and min(abs(total - 1), abs(total)) <= TOLERANCE):
            raise ValueError(f"{name} must hold weights after softmax: rows ≥ 0 with sum 1, got the row {row}")
    return weights


def _shape(values: Any) -> tuple[int, ...]:
    """Lengths of nested lists, by their first entries."""
    return (len(values), *(_shape(values[0]) if values else ())) if isinstance(values, list) else ()


def check_snapshots(given: Any, source: list[str], target: list[str]) -> list[dict[str, Any]]:
    """Moments of training, all with the same maps."""
    frames = [_snapshot(f"snapshots[{number}]", one, source, target) for number, one in enumerate(given)]
    if any(frame["maps"].keys() != frames[0]["maps"].keys() for frame in frames):
        raise ValueError(f"snapshots must all hold the same maps, got {[list(frame['maps']) for frame in frames]!r}")
    return frames


def _snapshot(name: str, given: Any, source: list[str], target: list[str]) -> dict[str, Any]:
    if not isinstance(given, Mapping) or "maps" not in given:
        raise TypeError(f"{name} must be a dict with 'step' and 'maps', got {given!r}")
    check_positive_integer(f"{name}['step']", given.get("step"), minimum=0)
    facts = {key: given.get(key) for key in ("step", "loss", "exact_match", "translation")}
    return facts | {"maps": check_maps(f"{name}['maps']", given["maps"], source, target)}


def check_candidates(given: Sequence[Any], target: list[str]) -> list[list[list[Any]]]:
    """For each target word its likeliest next words with their probabilities, or nothing at all."""
    rows = [[[str(word), float(probability)] for word, probability in row] for row in given]
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


def check_index(name: str, value: Any, count: int) -> int:
    """A whole number from 0 to count - 1."""
    check_positive_integer(name, value, minimum=0)
    if value >= count:
        raise ValueError(f"{name} must be from 0 to {count - 1}, got {value}")
    return int(value)


def mean_row(weights: Weights, head: int | None, query: int) -> list[float]:
    """One query's weights, one for each key: of a head, or the mean of all heads."""
    rows = [one[query] for one in (weights if head is None else [weights[head]])]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def first_crossing(weights: Weights, head: int | None) -> int:
    """The first word that looks further left than the word before it: where two word orders cross. 0 if none does."""
    rows = [mean_row(weights, head, query) for query in range(len(weights[0]))]
    strongest = [row.index(max(row)) for row in rows]
    return next((i for i in range(1, len(rows)) if strongest[i] < strongest[i - 1]), 0)
