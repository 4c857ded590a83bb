"""The language model of small children's stories, in the folder stories: its weights, its training, how good it is.

And what chapter 21 has made of it: a small change of its weights, with which it answers requests.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from transformer_edu.saving.tensor_file import read_tensors

if TYPE_CHECKING:
    from transformer_edu.language.model import LanguageModel

STORIES, ANSWERING = "stories", "answering"
LOW_RANK = "low rank 1"  # the format of a file of changes
_FOLDER = Path(__file__).parent / STORIES
CHANGE = _FOLDER / f"{ANSWERING}.safetensors"


def load_stories(device: torch.device | str = "cpu") -> "LanguageModel":
    """The shipped language model.

    Raises:
        ValueError: a file is damaged.
    """
    from transformer_edu.language.model import load_language_model  # here: others need no tokenizer

    return load_language_model(_FOLDER, device)


def load_answering(device: torch.device | str = "cpu") -> "LanguageModel":
    """The shipped language model with the change that lets it answer: to each matrix W is added scale · B A.

    Raises:
        ValueError: a file is damaged, or the change was made for other weights.
    """
    told = load_stories(device)
    header, change = read_tensors(CHANGE, LOW_RANK)
    if header.get("base") != told.card["weights_sha256"]:
        raise ValueError(f"{CHANGE} must hold a change of the shipped story model, but it was made for another")
    weights = dict(told.model.named_parameters())
    with torch.no_grad():
        for name in {key.rpartition(".")[0] for key in change}:
            a, b = (change[f"{name}.{letter}"].to(weights[name]) for letter in "ab")
            weights[name].add_(header["scale"] * b @ a)
    return told


def stories_log() -> list[dict[str, Any]]:
    """What its training wrote, a dict for each line: losses, and the evaluations."""
    return [json.loads(line) for line in (_FOLDER / "log.jsonl").read_text(encoding="utf-8").splitlines()]


TELLERS = {STORIES: load_stories, ANSWERING: load_answering}
