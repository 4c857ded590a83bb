"""Is one training luck? The recipe of chapter 13 from three seeds."""

from collections.abc import Sequence
from typing import Any

from transformer_edu.book.experiments import experiment
from transformer_edu.training.grammar_model import STEPS, held_out_score, loss_curve, train_grammar_model

SEEDS = (0, 1, 2)


@experiment("grammar-seeds")
def record_grammar_seeds(seeds: Sequence[int] = SEEDS, steps: int = STEPS, sentences: int = 1000) -> dict[str, Any]:
    """What each seed scores on held-out sentences, and how its loss went. About three minutes of one thread."""
    runs: list[dict[str, Any]] = []
    for seed in seeds:
        model, history = train_grammar_model(seed, steps=steps)
        runs.append({
            "seed": seed,
            "held_out": held_out_score(model, sentences),
            "steps": len(history.steps),
            "target_tokens": history.tokens,
            "seconds": round(history.seconds, 1),
            "loss_curve": loss_curve(history),
        })  # fmt: skip
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "lowest_exact_match": min(run["held_out"]["exact_match"] for run in runs),
        "runs": runs,
    }
