"""The end of a run: choose the weights that are best on the validation text, and write the model with its card."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu.runs.folder import WEIGHTS
from transformer_edu.runs.trainer import Trainer
from transformer_edu.saving.card import CARD, MODEL, TOKENIZER
from transformer_edu.saving.checkpoint import distinct_weights, put_weights, save_model
from transformer_edu.support.files import write_atomically


def average_weights(weights: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of weights of one model, name by name; computed in float64."""
    if not weights:
        raise ValueError("weights must hold at least one set, got none")
    return {
        name: torch.stack([state[name].double() for state in weights]).mean(dim=0).to(weights[0][name].dtype)
        for name in weights[0]
    }


def finish(trainer: Trainer, half: bool, facts: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Choose among the best and two averages, and write the finished model.

    Args:
        trainer: after its run.
        half: write the weights in float16.
        facts: what its task adds to the card; called when the model has the weights that are written.

    Returns:
        The card: command, commit, machine, settings, progress, choices and scores.
    """
    choice = _choose_weights(trainer)
    settings, progress, folder = trainer.settings, trainer.progress, Path(trainer.settings.out)
    if not trainer.processes.is_main:
        return {}
    if half:
        put_weights(trainer.model, {name: w.half().float() for name, w in distinct_weights(trainer.model).items()})
    added = dict(facts())
    extra = {"command": trainer.origins[0].get("command"), "seed": settings.seed, "run": trainer.folder.run}
    save_model(trainer.model, folder / MODEL, extra, torch.float16 if half else None)
    training = {"steps": progress.step, "epochs": progress.epoch, "tokens": progress.tokens}
    card: dict[str, Any] = {
        "name": folder.name,
        **trainer.origins[0],
        "run": trainer.folder.run,
        "resumed": trainer.origins[1:],
        "processes": trainer.processes.world_size,
        "seed": settings.seed,
        "parameters": sum(weight.numel() for weight in trainer.model.parameters()),
        "settings": settings.as_dict(),
        "training": {**training, "minutes": round(progress.seconds / 60, 1), **added.pop("training", {})},
        "weights": choice,
        "weights_sha256": hashlib.sha256((folder / MODEL).read_bytes()).hexdigest(),
        "tokenizer_sha256": hashlib.sha256((folder / TOKENIZER).read_bytes()).hexdigest(),
        **added,
    }
    write_atomically(folder / CARD, (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    return card


def _choose_weights(trainer: Trainer) -> dict[str, Any]:
    """Give the model the weights with the best score on the validation text; return what was tried."""
    trainer.processes.wait()
    sets = {f"step {step}": tensors for step, (_, tensors) in reversed(list(trainer.folder.whole(WEIGHTS)))}
    if not sets:  # all of them damaged
        sets = {f"step {trainer.progress.step}": {n: w.clone() for n, w in distinct_weights(trainer.model).items()}}
    candidates = {name: sets[name] for name in sets if name == f"step {trainer.progress.best_step}"}
    for count in {len(sets), min(4, len(sets))}:
        candidates[f"mean of the last {count}"] = average_weights(list(sets.values())[-count:])
    task, tried = trainer.task, {}
    for name, weights in sorted(candidates.items()):
        put_weights(trainer.model, weights)
        tried[name] = task.evaluate(trainer.model, trainer.processes)
    chosen = max(tried, key=lambda name: task.sign * tried[name][task.score])
    put_weights(trainer.model, candidates[chosen])
    return {"chosen": chosen, "tried": tried}
