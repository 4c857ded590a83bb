"""What a context explorer opens with: one word's vectors in a few sentences, on their way through an encoder."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.figures.sentence_data import Opening, translate
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.inspect.record import record_activations
from transformer_edu.transformer import Transformer

UNIT = 1e-4  # all vectors are whole multiples of it
SENTENCES = (  # the running sentence, then: gender, nothing of the kind, number, one place to the left, in the object
    RUNNING_SENTENCE,
    "the small black cow does not sleep",
    "the small black dog does not sleep",
    "the small black cats do not sleep",
    "the black cat does not sleep",
    "the cow watches the small black cat",
)


def levels_of(model: Transformer) -> list[list[str]]:
    """How far a vector has come: [name of the activation, name for a reader], from the embedding to the end."""
    layers = [[f"encoder.{i}.after_feed_forward", f"layer {i + 1}"] for i in range(model.config.num_layers)]
    final = [["encoder.output", "final norm"]] if model.config.has_final_norm else []
    return [["encoder.embedding", "embedding"], ["encoder.positional", "+ position"], *layers, *final]


@torch.no_grad()
def vectors_of(opened: Opening, words: Sequence[str]) -> Tensor:
    """Each word's vector at every level: (levels, seq, d_model)."""
    source = torch.tensor([opened.vocabularies[0].encode(list(words))])
    with record_activations(opened.model) as activations:
        opened.model.encode(source)
    return torch.stack([activations[name][0] for name, _ in levels_of(opened.model)])


def translation_of(opened: Opening, words: Sequence[str]) -> str:
    """What the model makes of a sentence."""
    _, ids = translate(opened.model, opened.vocabularies, words)
    return opened.vocabularies[1].decode(ids[0].tolist())


def shared_pairs(first: Sequence[str], second: Sequence[str]) -> list[list[int]]:
    """Places (in the first sentence, in the second) of every word that both have; none with itself."""
    same = list(first) == list(second)
    return [
        [i, j]
        for i, word in enumerate(first)
        for j, other in enumerate(second)
        if word == other and not (same and i == j)
    ]


def readings_of(opened: Opening, sentences: Sequence[Sequence[str]], word: str) -> list[dict[str, Any]]:
    """For each sentence its translation, and this word's `vectors` there: [place, [level][number in UNITs]]."""
    readings = []
    for words in sentences:
        levels = vectors_of(opened, words)
        places = [place for place, other in enumerate(words) if other == word]
        vectors = [[place, (levels[:, place].double() / UNIT).round().long().tolist()] for place in places]
        readings.append({"translation": translation_of(opened, words), "vectors": vectors})
    return readings
