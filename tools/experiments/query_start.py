"""Is the late start without √d_k only that the scores start out too large (chapter 13)?"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from experiments.ablations import SEEDS, Ablation, run_ablation
from experiments.processes import in_processes
from transformer_edu.attention import MultiHeadAttention
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.removed_parts import without_scaling
from transformer_edu.training.grammar_model import STEPS, grammar_config
from transformer_edu.transformer import Transformer

ROOT = math.sqrt(grammar_config().d_model // grammar_config().num_heads)  # √d_k


def small_queries_without_scaling(model: Transformer) -> None:
    """No division by √d_k, and W_Q starts divided by it: the same scores as in the whole model, before any step."""
    without_scaling(model)
    scale_queries(model, 1 / ROOT)


def large_queries_with_scaling(model: Transformer) -> None:
    """The division stays, and W_Q starts that much larger: the scores of the model without it, before any step."""
    scale_queries(model, ROOT)


def scale_queries(model: Transformer, factor: float) -> None:
    """Multiply every W_Q; its bias starts at zero."""
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, MultiHeadAttention):
                part.query_projection.weight.mul_(factor)


STARTS: dict[str, Callable[[Transformer], None]] = {
    "without 1/√d_k, W_Q starts at a quarter": small_queries_without_scaling,
    "with 1/√d_k, W_Q starts four times as large": large_queries_with_scaling,
}


@experiment("query-start")
def record_query_start(
    seeds: Sequence[int] = SEEDS, steps: int = STEPS, sentences: int = 1000, processes: int = 2
) -> dict[str, Any]:
    """Both starts from every seed, to hold against two rows of `ablations`: about five minutes on two cores.

    Args:
        seeds: one run each.
        steps: of each run.
        sentences: held out, on which each is scored.
        processes: how many run at once. The results do not depend on it.

    Returns:
        "steps", and under "starts" one dict each: "start", "runs" (see `run_ablation`).
    """
    jobs = [(start, seed) for start in STARTS for seed in seeds]
    runs = in_processes(partial(_run, steps=steps, sentences=sentences), jobs, processes)
    found = dict(zip(jobs, runs, strict=True))
    return {
        "steps": steps,
        "starts": [{"start": start, "runs": [found[start, seed] for seed in seeds]} for start in STARTS],
    }


def _run(start: str, seed: int, steps: int, sentences: int) -> dict[str, Any]:
    return run_ablation(Ablation(start, "model", grammar_config(), STARTS[start]), seed, steps, sentences)
