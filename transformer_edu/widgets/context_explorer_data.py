"""What a context explorer shows: the vectors of a few sentences on their way through an encoder."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_edu.inspection.record import record_activations
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.widgets.inputs import check_recording, check_sentence, check_translator

UNIT = 1e-4  # all vectors are whole multiples of it
KEYS = ("levels", "unit", "sentences", "translations", "embeddings", "positions", "layers")
FIRST_LEVELS = ("embedding", "+ position")


def record_vectors(translator: Any, sentences: Sequence[str]) -> dict[str, Any]:
    """Each word's vector before, between and after the encoder's layers, as plain JSON values.

    Returns:
        `levels`: their names. `unit`: what the whole numbers of a vector count. `sentences` as lists of words, and
        their `translations`. `embeddings`: for each word the vector that the lookup gives, already times √d_model.
        `positions`: what is added at each place. `layers`: [sentence][layer][word] the vectors after each layer.
    """
    check_translator(translator)
    if isinstance(sentences, str) or len(sentences) < 2:
        raise ValueError(f"sentences must be at least two sentences, got {sentences!r}")
    recorded = [_activations(translator, sentence) for sentence in sentences]
    longest = max(recorded, key=lambda one: one["encoder.embedding"].shape[0])
    names = [name for name in longest if name.endswith("after_feed_forward")]
    levels = [*FIRST_LEVELS, *(f"layer {number + 1}" for number in range(len(names)))]
    if translator.model.config.has_final_norm:
        names, levels = [*names, "encoder.output"], [*levels, "final norm"]
    words = [sentence.split() for sentence in sentences]
    embeddings = {
        word: _units(vector)
        for row, one in zip(words, recorded, strict=True)
        for word, vector in zip(row, one["encoder.embedding"], strict=True)
    }
    return {
        "levels": levels,
        "unit": UNIT,
        "sentences": words,
        "translations": [translator.translate(sentence) for sentence in sentences],
        "embeddings": embeddings,
        "positions": [_units(row) for row in longest["encoder.positional"] - longest["encoder.embedding"]],
        "layers": [[[_units(vector) for vector in one[name]] for name in names] for one in recorded],
    }


def _activations(translator: Any, sentence: str) -> dict[str, Tensor]:
    """What every block of the encoder puts out for one sentence, each (seq, d_model)."""
    words = check_sentence("sentences", sentence, translator.source_vocabulary)
    source = torch.tensor([translator.source_vocabulary.encode(words)])  # (1, seq)
    with torch.no_grad(), evaluation_mode(translator.model), record_activations(translator.model) as activations:
        translator.model.encode(source)
    return {name: value[0] for name, value in activations.items()}


def _units(vector: Tensor) -> list[int]:
    """Numbers as whole multiples of UNIT."""
    return [round(value / UNIT) for value in vector.tolist()]


def shared_pairs(first: Sequence[str], second: Sequence[str]) -> list[list[int]]:
    """Places (in the first sentence, in the second) of every word that both have, each occurrence with each."""
    return [[i, j] for i, word in enumerate(first) for j, other in enumerate(second) if word == other]


def vector_at(data: Mapping[str, Any], sentence: int, level: int, place: int) -> list[float]:
    """The vector of the word at this place of a sentence, (d_model)."""
    if level >= len(FIRST_LEVELS):
        numbers = data["layers"][sentence][level - len(FIRST_LEVELS)][place]
    else:
        numbers = data["embeddings"][data["sentences"][sentence][place]]
        if level:
            numbers = [one + other for one, other in zip(numbers, data["positions"][place], strict=True)]
    return [number * data["unit"] for number in numbers]


def check_vectors(given: Any) -> dict[str, Any]:
    """A recording with all that the figure needs."""
    return check_recording("vectors", given, KEYS, "record_vectors")
