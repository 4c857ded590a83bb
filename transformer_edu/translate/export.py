"""The end of a run: average weights, choose on the validation text, and write the model with its card."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu.runs.folder import WEIGHTS
from transformer_edu.runs.trainer import Trainer
from transformer_edu.saving.card import CARD, MODEL, TOKENIZER
from transformer_edu.saving.checkpoint import distinct_weights, put_weights, save_model
from transformer_edu.support.files import write_atomically
from transformer_edu.training.evaluate import lowercase_bleu
from transformer_edu.translate.evaluate import evaluate
from transformer_edu.translate.translator import Translator

BEAM_SIZE = 5
LENGTH_PENALTIES = (0.0, 0.6, 1.0, 1.4)


def average_weights(weights: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of weights of one model, name by name; computed in float64."""
    if not weights:
        raise ValueError("weights must hold at least one set, got none")
    return {
        name: torch.stack([one[name].double() for one in weights]).mean(dim=0).to(weights[0][name].dtype)
        for name in weights[0]
    }


def export(trainer: Trainer, half: bool = False) -> dict[str, Any]:
    """Choose among the last, the best and the average on validation, then the length penalty; write the model.

    Args:
        trainer: after its run.
        half: write the weights in float16.

    Returns:
        The card: command, commit, machine, settings, progress, choices and scores.
    """
    choice = _choose_weights(trainer)
    settings, processes, task = trainer.settings, trainer.processes, trainer.task
    folder = Path(settings.out)
    if not processes.is_main:
        return {}
    if half:
        put_weights(trainer.model, {name: w.half().float() for name, w in distinct_weights(trainer.model).items()})
    search = choose_length_penalty(Translator(trainer.model.eval(), task.tokenizer), trainer)
    extra = {"command": trainer.origins[0].get("command"), "seed": settings.seed, "run": trainer.folder.run}
    save_model(trainer.model, folder / MODEL, extra, torch.float16 if half else None)
    progress = trainer.progress
    card: dict[str, Any] = {
        "name": folder.name,
        **trainer.origins[0],
        "run": trainer.folder.run,
        "resumed": trainer.origins[1:],
        "processes": processes.world_size,
        "seed": settings.seed,
        "languages": [settings.source, settings.target] if not settings.train else [],
        "parameters": sum(weight.numel() for weight in trainer.model.parameters()),
        "settings": settings.as_dict(),
        "training": {
            "steps": progress.step,
            "epochs": progress.epoch,
            "target_tokens": progress.tokens,
            "minutes": round(progress.seconds / 60, 1),
            "pairs": len(task.train),
            "pairs_left_out": task.too_long,
        },
        "weights": choice,
        "weights_sha256": hashlib.sha256((folder / MODEL).read_bytes()).hexdigest(),
        "tokenizer_sha256": hashlib.sha256((folder / TOKENIZER).read_bytes()).hexdigest(),
        "search": search,
    }
    write_atomically(folder / CARD, (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    return card


def _choose_weights(trainer: Trainer) -> dict[str, Any]:
    """Give the model the weights with the best validation BLEU; return what was tried."""
    trainer.processes.wait()
    sets = {f"step {step}": tensors for step, (_, tensors) in reversed(list(trainer.folder.whole(WEIGHTS)))}
    if not sets:  # all of them damaged
        sets = {f"step {trainer.progress.step}": {n: w.clone() for n, w in distinct_weights(trainer.model).items()}}
    candidates = {name: sets[name] for name in sets if name == f"step {trainer.progress.best_step}"}
    for count in {len(sets), min(4, len(sets))}:
        candidates[f"mean of the last {count}"] = average_weights(list(sets.values())[-count:])
    tried = {}
    for name, weights in sorted(candidates.items()):
        put_weights(trainer.model, weights)
        tried[name] = evaluate(trainer.model, trainer.task, trainer.settings, trainer.processes)
    chosen = max(tried, key=lambda name: tried[name]["validation_bleu"])
    put_weights(trainer.model, candidates[chosen])
    return {"chosen": chosen, "tried": tried}


def choose_length_penalty(translator: Translator, trainer: Trainer) -> dict[str, Any]:
    """The length penalty with the best validation BLEU for a beam of five."""
    task = trainer.task
    sources = [source for source, _ in task.valid]
    tried = {}
    for penalty in LENGTH_PENALTIES:
        answers = translator.translate_ids(sources, beam_size=BEAM_SIZE, length_penalty=penalty)
        texts = [task.tokenizer.decode(best[0].ids) for best in answers]
        tried[str(penalty)] = round(lowercase_bleu(texts, task.references), 2)
    chosen = max(tried, key=lambda penalty: tried[penalty])
    return {"beam_size": BEAM_SIZE, "length_penalty": float(chosen), "validation_bleu": tried}
