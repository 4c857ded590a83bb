"""The book's English-French model: grammar.safetensors, and in grammar.json its vocabularies and how it came about."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, Vocabulary
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.saving.checkpoint import load_model
from transformer_edu.support.arguments import check_sentence
from transformer_edu.support.device import device_of
from transformer_edu.transformer import Transformer

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
        check_sentence("sentence", sentence)
        words = sentence.lower().strip().removesuffix(".").strip()
        unknown = self.source_vocabulary.unknown_words(words)
        if unknown or not words:
            raise ValueError(
                f"sentence must consist of words that the model knows, got {unknown or 'none'} in {sentence!r}"
            )
        device = device_of(self.model)
        source = torch.tensor([self.source_vocabulary.encode(words)], device=device)
        ids = greedy_search(self.model, source, BOS_ID, EOS_ID, self.model.config.max_len)
        return self.target_vocabulary.decode(ids[0].tolist())


def load_grammar(device: torch.device | str = "cpu") -> Pretrained:
    """The small English-French model that has learnt the package's own grammar.

    Raises:
        ValueError: a file is damaged.
    """
    weights, card_path = _FOLDER / "grammar.safetensors", _FOLDER / "grammar.json"
    card = json.loads(card_path.read_text(encoding="utf-8"))
    if hashlib.sha256(weights.read_bytes()).hexdigest() != card["weights_sha256"]:
        raise ValueError(f"{weights.name} must be the file that {card_path.name} describes, but its checksum differs")
    model = load_model(weights, device)
    return Pretrained(model, Vocabulary(card["source_words"]), Vocabulary(card["target_words"]), card)
