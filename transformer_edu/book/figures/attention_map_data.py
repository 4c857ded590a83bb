"""What an attention map shows: what a model does with a sentence, or maps and words of a reader's own."""

from collections.abc import Sequence
from typing import Any

import torch

from transformer_edu.book.figures.attention_weights import KINDS, Weights, map_name
from transformer_edu.book.figures.sentence_data import Opening, translate
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.validation import check_choice

BEST = 5  # likeliest words at each place
DECIMALS = 4


@torch.no_grad()
def attention_of(opened: Opening) -> tuple[dict[str, Any], list[str], list[str], list[list[list[Any]]]]:
    """All weights (heads, q_len, k_len) on a sentence, its words, what the model writes, the likeliest words there.

    Of what it writes, as much as the figure draws.
    """
    model, target_words = opened.model, opened.vocabularies[1]
    source, ids = translate(model, opened.vocabularies, opened.words, opened.line["most"])
    with record_attention(model) as maps:
        logits = model(source, ids[:, :-1])[0]
    best = logits.softmax(dim=-1).topk(min(BEST, len(target_words)))
    candidates = [
        [[target_words.word(i), round(p, DECIMALS)] for i, p in zip(*row, strict=True)]
        for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
    written = [target_words.word(i) for i in ids[0, 1:].tolist()]
    return {name: weights[0] for name, weights in maps.items()}, opened.words, written, candidates


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
