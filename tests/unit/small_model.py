"""A folder with a small model that nobody trained: what `translate` and `evaluate` need, in a moment."""

import hashlib
import json

import torch

from transformer_edu import build_transformer
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.saving.checkpoint import save_model

TEXTS = ["the small cat sleeps", "a dog", "der Hund läuft", "ein Mädchen lacht"]
POSITIONS = 32


def make_model(folder, spoil=None, **card):
    """Write the model's files; `spoil` becomes one of its weights, and `card` entries of its card."""
    tokenizer = Tokenizer.train(TEXTS * 3, 290)
    torch.manual_seed(4)
    size = len(tokenizer)
    model = build_transformer(size, size, d_model=16, num_heads=2, d_ff=16, num_layers=1, max_len=POSITIONS, norm="pre")
    if spoil is not None:
        with torch.no_grad():
            next(model.parameters()).view(-1)[5] = spoil
    save_model(model, folder / "model.safetensors")
    tokenizer.save(folder / "tokenizer.json")
    sums = {
        f"{name}_sha256": hashlib.sha256((folder / file).read_bytes()).hexdigest()
        for name, file in (("weights", "model.safetensors"), ("tokenizer", "tokenizer.json"))
    }
    (folder / "card.json").write_text(json.dumps({"name": "small", **sums, **card}), encoding="utf-8")
    return folder
