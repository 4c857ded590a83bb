"""What is each part for? Take it out alone, train again, and see (chapter 13)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from experiments.processes import in_processes
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.removed_parts import (
    without_feed_forward,
    without_norm,
    without_positions,
    without_relu,
    without_residual,
    without_scaling,
)
from transformer_edu.config import TransformerConfig
from transformer_edu.data import encode_pairs, iterate_batches, train_pairs, vocabularies
from transformer_edu.support.initialization import xavier_initialize
from transformer_edu.support.seeds import seeded
from transformer_edu.support.threads import one_thread
from transformer_edu.training.grammar_model import (
    BATCH_SIZE,
    SMOOTHING,
    STEPS,
    WARMUP_STEPS,
    grammar_config,
    grammar_learning_rate,
    held_out_score,
    loss_curve,
)
from transformer_edu.training.loop import train
from transformer_edu.transformer import Transformer

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Ablation:
    """One run of chapter 13's recipe with one thing changed.

    `part` is what was taken out, of the "model" or of the "recipe"; the other fields say how.
    """

    part: str
    of: str
    config: TransformerConfig
    change: Callable[[Transformer], None] | None = None
    smoothing: float = SMOOTHING
    clip_norm: float | None = 1.0
    betas: tuple[float, float] = (0.9, 0.98)
    learning_rate: Callable[[int], float] = grammar_learning_rate


def no_warm_up(step: int) -> float:
    """The peak rate from the first step on; it falls as before."""
    return grammar_learning_rate(max(step, WARMUP_STEPS))


def no_fall(step: int) -> float:
    """Warm-up as before; then the peak rate for good."""
    return grammar_learning_rate(min(step, WARMUP_STEPS))


def ablations() -> list[Ablation]:
    """Nothing taken out, then each part of the model, then each part of the recipe."""
    c = grammar_config()
    return [
        Ablation("nothing", "", c),
        Ablation("positions", "model", c, without_positions),
        Ablation("residual connections", "model", c, without_residual),
        Ablation("layer norm", "model", c, without_norm),
        Ablation("feed-forward", "model", c, without_feed_forward),
        Ablation("its ReLU", "model", c, without_relu),
        Ablation("1/√d_k", "model", c, without_scaling),
        Ablation("several heads", "model", replace(c, num_heads=1)),
        Ablation("label smoothing", "recipe", c, smoothing=0.0),
        Ablation("warm-up", "recipe", c, learning_rate=no_warm_up),
        Ablation("falling rate", "recipe", c, learning_rate=no_fall),
        Ablation("Adam's 0.98", "recipe", c, betas=(0.9, 0.999)),  # PyTorch's default in its place
        Ablation("clipping", "recipe", c, clip_norm=None),
        Ablation("dropout", "recipe", replace(c, dropout=0.0)),
    ]


def new_ablated_model(ablation: Ablation, seed: int) -> Transformer:
    """An untrained model with the part taken out; what is left starts with the weights that it has in the whole."""
    with seeded(seed):
        model = Transformer(ablation.config)
        xavier_initialize(model)  # as `new_grammar_model`
    if ablation.change is not None:
        ablation.change(model)
    return model


def run_ablation(ablation: Ablation, seed: int, steps: int = STEPS, sentences: int = 1000) -> dict[str, Any]:
    """Train one model and score it on held-out sentences; same batches and, where it has as many, same dropout.

    Returns:
        "seed". "held_out": see `held_out_score` (loss without smoothing). "loss_curve": the mean training loss of each
        50 steps, with the run's own smoothing.
    """
    model = new_ablated_model(ablation, seed)
    batches = iterate_batches(encode_pairs(train_pairs(), *vocabularies()), BATCH_SIZE, seed=seed, epochs=None)
    with one_thread():
        history = train(
            model, batches, steps=steps, learning_rate=ablation.learning_rate, smoothing=ablation.smoothing,
            clip_norm=ablation.clip_norm, betas=ablation.betas, seed=seed, progress=False,
        )  # fmt: skip
        score = held_out_score(model, sentences)
    curve = loss_curve(history, 50)
    return {"seed": seed, "held_out": score, "loss_curve": [point["loss"] for point in curve]}


@experiment("ablations")
def record_ablations(
    seeds: Sequence[int] = SEEDS,
    steps: int = STEPS,
    sentences: int = 1000,
    parts: Sequence[str] | None = None,
    processes: int = 2,
) -> dict[str, Any]:
    """Every ablation from every seed, several processes of one thread each: about fifteen minutes on two cores.

    Args:
        seeds: one run each.
        steps: of each run.
        sentences: held out, on which each is scored.
        parts: only these; None: all.
        processes: how many run at once. The results do not depend on it.

    Returns:
        "steps", and under "ablations" one dict each: "part", "of", "parameters", "runs" (see `run_ablation`).
    """
    chosen = [ablation for ablation in ablations() if parts is None or ablation.part in parts]
    jobs = [(ablation.part, seed) for ablation in chosen for seed in seeds]
    runs = in_processes(partial(_run_named, steps=steps, sentences=sentences), jobs, processes)
    found = dict(zip(jobs, runs, strict=True))
    return {
        "steps": steps,
        "ablations": [
            {
                "part": ablation.part,
                "of": ablation.of,
                "parameters": sum(p.numel() for p in new_ablated_model(ablation, 0).parameters()),
                "runs": [found[ablation.part, seed] for seed in seeds],
            }
            for ablation in chosen
        ],
    }


def _run_named(part: str, seed: int, steps: int, sentences: int) -> dict[str, Any]:
    return run_ablation(next(ablation for ablation in ablations() if ablation.part == part), seed, steps, sentences)
