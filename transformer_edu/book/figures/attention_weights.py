"""Attention weights of one sentence as several figures take them: names, checks, and what is read from them."""

import math
import re
from collections.abc import Mapping
from typing import Any

from transformer_edu.book.figures.inputs import check_numbers, check_words

KINDS = ("encoder self", "decoder self", "cross")
MAP_NAME = re.compile(r"encoder\.\d+\.self|decoder\.\d+\.(?:self|cross)")
TOLERANCE = 0.02  # how far a row of weights may be from summing to 1: enough for bfloat16

Weights = list[list[list[float]]]  # (heads, q_len, k_len)


def map_name(attention: str, layer: int) -> str:
    """What `record_attention` calls this attention of this layer, as in "decoder.0.cross"."""
    return f"{'encoder' if attention.startswith('encoder') else 'decoder'}.{layer}.{attention.split()[-1]}"


def check_tokens(name: str, tokens: Any) -> list[str]:
    """Up to 24 words, without the begin token."""
    words = check_words(name, tokens)
    if words[0] == "<bos>":
        raise ValueError(f"{name} must be the words that are written, without the begin token, got {words!r}")
    return words


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
    numbers: Weights = check_numbers(
        name, given, 3, "weights (heads, q_len, k_len) of one sentence (of a batch take weights[0])"
    )
    weights = [[[round(value, 4) for value in row] for row in head] for head in numbers]
    if not weights or any([len(row) for row in head] != [k_len] * q_len for head in weights):
        shape = (len(weights), *((len(weights[0]), len(weights[0][0])) if weights and weights[0] else ()))
        raise ValueError(f"{name} must have shape (heads, {q_len}, {k_len}), from the tokens, got {shape}")
    for row in (row for head in weights for row in head):
        total = math.fsum(row)
        if not (min(row) >= 0 and min(abs(total - 1), abs(total)) <= TOLERANCE):
            raise ValueError(f"{name} must hold weights after softmax: rows ≥ 0 with sum 1, got the row {row}")
    return weights


def mean_row(weights: Weights, head: int | None, query: int) -> list[float]:
    """One query's weights, one for each key: of a head, or the mean of all heads."""
    rows = [matrix[query] for matrix in (weights if head is None else [weights[head]])]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def first_crossing(weights: Weights, head: int | None) -> int:
    """The first word that looks further left than the word before it: where two word orders cross. 0 if none does."""
    rows = [mean_row(weights, head, query) for query in range(len(weights[0]))]
    strongest = [row.index(max(row)) for row in rows]
    return next((i for i in range(1, len(rows)) if strongest[i] < strongest[i - 1]), 0)
