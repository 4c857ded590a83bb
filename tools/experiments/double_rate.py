"""Twice the learning rate with a warm-up, to the end and not only to its peak (chapter 13)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.ablations import SEEDS, Ablation, run_ablation
from experiments.processes import in_processes
from transformer_edu.book.experiments import experiment
from transformer_edu.training.grammar_model import STEPS, grammar_config, grammar_learning_rate


def twice(step: int) -> float:
    """Chapter 13's schedule, doubled; it peaks at 0.0125 in step 400."""
    return 2 * grammar_learning_rate(step)


@experiment("double-rate")
def record_double_rate(
    seeds: Sequence[int] = SEEDS, steps: int = STEPS, sentences: int = 1000, processes: int = 3
) -> dict[str, Any]:
    """Chapter 13's recipe at twice its rate, from three seeds: about five minutes of one thread.

    Args:
        seeds: one run each.
        steps: of each run.
        sentences: held out, on which each is scored.
        processes: how many run at once. The results do not depend on it.

    Returns:
        "part" (what was changed), "steps", "runs" (see `run_ablation`).
    """
    runs = in_processes(partial(_run, steps=steps, sentences=sentences), [(seed,) for seed in seeds], processes)
    return {"part": "twice the rate", "steps": steps, "runs": runs}


def _run(seed: int, steps: int, sentences: int) -> dict[str, Any]:
    return run_ablation(
        Ablation("twice the rate", "recipe", grammar_config(), learning_rate=twice), seed, steps, sentences
    )
