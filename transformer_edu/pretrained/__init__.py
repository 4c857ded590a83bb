"""Models that have already learnt, shipped with the package.

>>> from transformer_edu import pretrained
>>> pretrained.load("grammar").translate("the small black cat does not sleep")
'le petit chat noir ne dort pas'
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import torch

from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.saving.checkpoint import load_model
from transformer_edu.support.validation import check_choice
from transformer_edu.training.evaluate import greedy_ids
from transformer_edu.transformer import Transformer

TRANSLATORS = ("multi30k-de-en",)
NAMES = ("grammar", *TRANSLATORS)
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Pretrained:
    """A trained model in evaluation mode, its two vocabularies, and how it came about (command, seed, score)."""

    model: Transformer
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    card: dict[str, Any]

    def translate(self, sentence: str) -> str:
        """The translation of one sentence, by greedy decoding. Case and a final full stop do not matter."""
        words = sentence.lower().strip().removesuffix(".").strip()
        unknown = self.source_vocabulary.unknown_words(words)
        if unknown or not words:
            raise ValueError(
                f"sentence must consist of words that the model knows, got {unknown or 'none'} in {sentence!r}"
            )
        ids = greedy_ids(self.model, [self.source_vocabulary.encode(words)], max_len=self.model.config.max_len)
        return self.target_vocabulary.decode(ids[0])


@overload
def load(name: Literal["grammar"], device: torch.device | str = "cpu") -> Pretrained: ...
@overload
def load(name: str, device: torch.device | str = "cpu") -> Any: ...
def load(name: str, device: torch.device | str = "cpu") -> Any:
    """The shipped model of this name.

    "grammar" is the book's English-French model, a `Pretrained`; "multi30k-de-en" translates German captions of
    photographs into English, a `transformer_edu.translator.translator.Translator`.

    Raises:
        ValueError: no model has that name, or a file is damaged.
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(map(repr, NAMES))}, got {name!r}")
    if name in TRANSLATORS:
        from transformer_edu.translator.translator import (
            load_translator,  # here: it needs more than the grammar's model
        )

        return load_translator(_FOLDER / name, device)
    weights, card_path = _FOLDER / f"{name}.safetensors", _FOLDER / f"{name}.json"
    card = json.loads(card_path.read_text(encoding="utf-8"))
    if hashlib.sha256(weights.read_bytes()).hexdigest() != card["weights_sha256"]:
        raise ValueError(f"{weights.name} must be the file that {card_path.name} describes, but its checksum differs")
    model = load_model(weights, device)
    return Pretrained(model, Vocabulary(card["source_words"]), Vocabulary(card["target_words"]), card)


def training_log(name: str) -> list[dict[str, Any]]:
    """What the training of a shipped translator wrote, a dict for each line: losses, and the evaluations.

    Raises:
        ValueError: no translator has that name.
    """
    check_choice("name", name, TRANSLATORS)
    lines = (_FOLDER / name / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def scores(name: str, search: str = "beam") -> dict[str, Any]:
    """What `transformer-edu evaluate` wrote about a shipped translator on its test set: scores, and every translation.

    Args:
        name: of the translator.
        search: "beam", with the settings that were best on validation, or "greedy".

    Raises:
        ValueError: no translator has that name, or no such search was recorded.
    """
    check_choice("name", name, TRANSLATORS)
    check_choice("search", search, ("beam", "greedy"))
    result: dict[str, Any] = json.loads((_FOLDER / name / f"test-2016-{search}.json").read_text(encoding="utf-8"))
    return result
