"""The language model of small children's stories, in the folder stories: its weights, its training, how good it is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformer_edu.language.model import LanguageModel

STORIES = "stories"
_FOLDER = Path(__file__).parent / STORIES


def load_stories(device: torch.device | str = "cpu") -> "LanguageModel":
    """The shipped language model.

    Raises:
        ValueError: a file is damaged.
    """
    from transformer_edu.language.model import load_language_model  # here: others need no tokenizer

    return load_language_model(_FOLDER, device)


def stories_log() -> list[dict[str, Any]]:
    """What its training wrote, a dict for each line: losses, and the evaluations."""
    return [json.loads(line) for line in (_FOLDER / "log.jsonl").read_text(encoding="utf-8").splitlines()]
