"""A translator in the page: type a sentence, see where the model looks, take a part of it away."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import Figure, spoken
from transformer_edu.book.figures.fields import field, index, made
from transformer_edu.book.figures.inputs import check_words
from transformer_edu.book.figures.sentence_data import MOST, SentenceFigure, sentence_field, translate
from transformer_edu.book.figures.sentence_translator import SentenceTranslator
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.changes import Changes, changed
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

SEEN = "the small black cat sees the fox"  # which is another in French without any of the parts
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
    for part in parts_of(layers):
        if part["part"] in taken:
            for name, value in part["changes"].items():
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


class Playground(SentenceFigure):
    """Translate in the reader's browser, and break the model while it runs.

    Args:
        sentence: at most twelve words that the model knows.
        taken: what the model has to do without, of "order", "cross", "own" and "residual".
        token: the written word whose lines are strong, counts from 0; None is the first where the two orders cross.
        model, vocabularies: as of every `SentenceFigure`.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long; a part has another name.
    """

    figure_name: ClassVar[str] = "playground"

    sentence = sentence_field(SEEN)
    taken = field(traitlets.List(traitlets.Unicode()), (), lambda name, taken, so: _parts(name, taken))
    recorded = made(
        traitlets.Dict(), lambda so: translated(so.opened.model, so.opened.vocabularies, so.opened.words, so.taken)
    )
    token = index(lambda so: _crossing(so.recorded), lambda so: min(MOST, len(so.recorded["written"])))
    parts = made(traitlets.List(traitlets.Dict()), lambda so: parts_of(so.opened.model.config.num_layers))

    def behind(self) -> Figure | None:
        """The translator of any German sentence, for who has words that the grammar's model does not know."""
        return SentenceTranslator() if self.model_file["name"] else None

    def alt_text(self) -> str:
        """The two sentences, and where the chosen word looks."""
        words = self.recorded["source"]
        row, word = self.recorded["weights"][self.token], self.recorded["written"][self.token]
        ranked = sorted(zip(row, words, strict=True), key=lambda pair: -pair[0])
        looks = ", ".join(f"{word} {weight:.2f}" for weight, word in ranked if weight >= 0.05)
        without = "".join(f" Without {PARTS[part]}." for part in self.taken)
        written = " ".join(spoken(token) for token in self.recorded["written"] if token != "<eos>")
        return (
            f"A line to type an English sentence in: {self.sentence}. Below it the words, and the model's French: "
            f"{written}.{without} Lines show where it looked to write each word: for {spoken(word)} at "
            f"{looks or 'no word'}. Four switches take parts of the model away."
        )


def _parts(name: str, taken: Any) -> list[str]:
    """Names of parts."""
    for part in check_words(name, taken, 0, len(PARTS)):
        check_choice(name, part, tuple(PARTS))
    return list(taken)


def _crossing(answer: dict[str, Any]) -> int:
    """The first word that looks most at a word of another place; 0 if none does."""
    return next((i for i, row in enumerate(answer["weights"]) if row.index(max(row)) != i), 0)
