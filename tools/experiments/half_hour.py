"""What half an hour of training is good for: the translator's default recipe, cut short (chapter 15)."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from transformer_edu.book.experiments import experiment
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.translate.commands.evaluate import evaluate
from transformer_edu.translate.translator import load_translator

KEPT = ("command", "commit", "machine", "date", "training", "weights", "search")


@experiment("half-hour")
def record_half_hour(folder: Path = Path("half-hour")) -> dict[str, Any]:
    """Train for half an hour and score on test 2016; a finished run in `folder` is used. Reads Multi30k's files."""
    if not (folder / "card.json").exists():
        command = [sys.executable, "-m", "transformer_edu", "train", "--out", str(folder), "--minutes", "30", "--half"]
        subprocess.run(command, check=True)
    translator = load_translator(folder)
    languages = translator.card["languages"]
    result = evaluate(translator, multi30k_pairs("test_2016_flickr", None, *languages), {})
    return {**{key: translator.card[key] for key in KEPT}, "scores": result["scores"]}
