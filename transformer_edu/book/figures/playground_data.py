"""What a playground opens with: a sentence, its translation, and where the model looked."""

from collections.abc import Sequence
from typing import Any

import torch

from transformer_edu.book.figures.sentence_data import translate
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.changes import Changes, changed
from transformer_edu.inspect.record import record_attention
from transformer_edu.transformer import Transformer

DECIMALS = 4
PARTS = {  # what can be taken away, in words
    "order": "word order",
    "cross": "the English",
    "own": "its own words",
    "residual": "residual connections",
}


def parts_of(layers: int) -> list[dict[str, Any]]:
    """What can be taken from a model with so many layers: `part`, its `name`, what the model computes without it."""
    sublayers = {
        "encoder": [f"encoder.{i}.{kind}" for i in range(layers) for kind in ("self", "feed_forward")],
        "decoder": [f"decoder.{i}.{kind}" for i in range(layers) for kind in ("self", "cross", "feed_forward")],
    }
    changes: dict[str, dict[str, Any]] = {
        "order": {"source_positions": "off"},
        "cross": {"silent": [name for name in sublayers["decoder"] if name.endswith("cross")]},
        "own": {"silent": [name for name in sublayers["decoder"] if name.endswith("self")]},
        "residual": {"unadded": [*sublayers["encoder"], *sublayers["decoder"]]},
    }
    return [{"part": part, "name": name, "changes": changes[part]} for part, name in PARTS.items()]


def changes_of(taken: Sequence[str], layers: int) -> Changes:
    """What the model is to compute without these parts."""
    merged: dict[str, Any] = {}
    for one in parts_of(layers):
        if one["part"] in taken:
            for name, value in one["changes"].items():
                merged[name] = [*merged.get(name, ()), *value] if isinstance(value, list) else value
    return Changes(**merged)


@torch.no_grad()
def translated(
    model: Transformer, vocabularies: tuple[Vocabulary, Vocabulary], words: list[str], taken: Sequence[str]
) -> dict[str, Any]:
    """The written words with <eos>, and the last layer's cross-attention: the mean of its heads (written, source)."""
    with changed(model, changes_of(taken, model.config.num_layers)), record_attention(model) as maps:
        source, ids = translate(model, vocabularies, words)
        maps.clear()
        model(source, ids[:, :-1])
    written = [vocabularies[1].word(index) for index in ids[0, 1:].tolist()]
    cross = maps.get(f"decoder.{model.config.num_layers - 1}.cross")
    weights = torch.zeros(len(written), len(words)) if cross is None else cross[0].mean(dim=0)
    rows = [[round(weight, DECIMALS) for weight in row] for row in weights.tolist()]
    return {"source": words, "taken": list(taken), "written": written, "weights": rows}
