"""The German-English model of real captions, in the folder multi30k-de-en: its weights, its training, its scores."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from transformer_edu.support.validation import check_choice

if TYPE_CHECKING:
    from transformer_edu.translate.translator import Translator

TRANSLATOR = "multi30k-de-en"
_FOLDER = Path(__file__).parent / TRANSLATOR


def load_translator(device: torch.device | str = "cpu") -> "Translator":
    """The shipped translator of German captions of photographs into English.

    Raises:
        ValueError: a file is damaged.
    """
    from transformer_edu.translate import translator  # here: whoever wants the grammar's model needs no tokenizer

    return translator.load_translator(_FOLDER, device)


def translator_log() -> list[dict[str, Any]]:
    """What the training of the translator wrote, a dict for each line: losses, and the evaluations."""
    return [json.loads(line) for line in (_FOLDER / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def translator_scores(search: str = "beam") -> dict[str, Any]:
    """What `transformer-edu evaluate` wrote about the translator on its test set: scores, and every translation.

    Args:
        search: "beam", with the settings that were best on validation, or "greedy".

    Raises:
        ValueError: no such search was recorded.
    """
    check_choice("search", search, ("beam", "greedy"))
    result: dict[str, Any] = json.loads((_FOLDER / f"test-2016-{search}.json").read_text(encoding="utf-8"))
    return result
