"""Is the shipped translator's score luck? The same training from two more seeds (chapter 15)."""

from pathlib import Path
from typing import Any

from experiments.half_hour import test_scores, trained
from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.translate.translator import Translator

SEEDS = (1, 2)
STEPS = 11_760  # where the shipped model, seed 0, was stopped
SETTINGS = ("--steps", str(STEPS), "--threads", "1", "--half", "--quiet")


@experiment("translator-seeds")
def record_translator_seeds(folder: Path = Path("translator-seeds")) -> dict[str, Any]:
    """Train seeds 1 and 2 and score all three on test 2016. 65 minutes of a thread each; Multi30k's files are read.

    A run that is in `folder` goes on where it stopped, and a finished one is used as it is.
    """
    shipped = [pretrained.translator_scores(search)["scores"] for search in ("greedy", "beam")]
    runs = [_row(0, pretrained.load_translator(), *shipped)]
    for seed in SEEDS:
        translator = trained(folder / f"multi30k-de-en-{seed}", "--seed", str(seed), *SETTINGS)
        runs.append(_row(seed, translator, *(test_scores(translator, search) for search in ({"beam_size": 1}, {}))))
    return {"steps": STEPS, "settings": " ".join(SETTINGS), "runs": runs}


def _row(seed: int, translator: Translator, greedy: dict[str, Any], beam: dict[str, Any]) -> dict[str, Any]:
    card = translator.card
    assert (card["settings"]["seed"], card["training"]["steps"]) == (seed, STEPS)
    tried = card["weights"]["tried"][card["weights"]["chosen"]]
    return {
        "seed": seed,
        "date": card["date"],
        "chosen": card["weights"]["chosen"],
        "length_penalty": card["search"]["length_penalty"],
        "validation_bleu": round(tried["validation_bleu"], 2),
        "validation_loss": round(tried["validation_loss"], 4),
        "greedy": greedy["bleu_lowercase"]["score"],
        "beam": beam["bleu_lowercase"]["score"],
        "signature": beam["bleu_lowercase"]["signature"],
    }
