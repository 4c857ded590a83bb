"""What half an hour of training is good for: the translator's default recipe, cut short (chapter 15)."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from transformer_edu.book.experiments import experiment
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.translate.commands.evaluate import evaluate
from transformer_edu.translate.translator import Translator, load_translator

KEPT = ("command", "commit", "machine", "date", "training", "weights", "search")


@experiment("half-hour")
def record_half_hour(folder: Path = Path("half-hour")) -> dict[str, Any]:
    """Train for half an hour and score on test 2016; a finished run in `folder` is used. Reads Multi30k's files."""
    translator = trained(folder, "--minutes", "30", "--half")
    return {**{key: translator.card[key] for key in KEPT}, "scores": test_scores(translator, {})}


def trained(folder: Path, *options: str) -> Translator:
    """What `transformer-edu train` makes in this folder: a finished run as it is, a stopped one goes on."""
    if not (folder / "card.json").exists():
        more = ["--resume"] if (folder / "run.json").exists() else []
        command = [sys.executable, "-m", "transformer_edu", "train", "--out", str(folder), *options, *more]
        subprocess.run(command, check=True)
    return load_translator(folder)


def test_scores(translator: Translator, search: dict[str, Any]) -> dict[str, Any]:
    """BLEU and chrF of test 2016, as `transformer-edu evaluate` gives them; {}: with the search of its card."""
    pairs = multi30k_pairs("test_2016_flickr", None, *translator.card["languages"])
    scores: dict[str, Any] = evaluate(translator, pairs, search)["scores"]
    return scores
