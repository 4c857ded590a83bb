"""The folder of a finished model: weights, tokenizer and card, each file compared with its checksum in the card."""

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import nn

from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.saving.card import CARD, MODEL, TOKENIZER, read_card
from transformer_edu.saving.checkpoint import load_model


def load_finished(
    folder: str | Path, kind: type[nn.Module], device: torch.device | str = "cpu"
) -> tuple[Any, Tokenizer, dict[str, Any]]:
    """The model, the tokenizer and the card that a training run wrote.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, or the model is not of this kind.
    """
    folder = Path(folder)
    for name in (CARD, MODEL, TOKENIZER):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"folder must hold a finished model, but {folder} has no {name}")
    card = read_card(folder / CARD)
    for name, expected in {MODEL: card["weights_sha256"], TOKENIZER: card["tokenizer_sha256"]}.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
            raise ValueError(f"{folder / name} must be the file that {CARD} describes, but its checksum differs")
    model = load_model(folder / MODEL, device)
    if not isinstance(model, kind):
        raise ValueError(f"folder must hold a {kind.__name__}, but {folder} holds a {type(model).__name__}")
    for name, weight in model.state_dict().items():
        if not weight.isfinite().all():
            raise ValueError(f"{folder / MODEL} must hold finite weights, but {name} has NaN or infinity in it")
    return model, Tokenizer.load(folder / TOKENIZER), card
