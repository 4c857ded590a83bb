"""Which experts tokens go to while a mixture of them learns, balanced in two ways and not at all (chapter 19)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from experiments.modern_block import FOLDER, PROCESSES, SEEDS, device_name, ids_of
from experiments.processes import in_processes
from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.modern_block import (
    TODAY,
    BlockModel,
    Recipe,
    Size,
    build_block_model,
    fit,
    held_out_loss,
    routed,
)
from transformer_edu.parts.experts import shares_of
from transformer_edu.support.device import device_of, pick_device
from transformer_edu.support.threads import one_thread

BALANCING = ("none", "loss", "bias")
MOMENTS = (0, 10, 25, 50, 100, 200, 300, 500, 750, 1000, 1250, 1500)
SENTENCE = "Once upon a time there was a little cat. She liked to play with a red ball."


def route(balancing: str, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Train a mixture of experts; which of them tokens go to, at a dozen moments, and the loss in the end."""
    ids, tokenizer = ids_of(folder), pretrained.load_stories().tokenizer
    sentence = torch.tensor([tokenizer.encode(SENTENCE)])
    moments: list[dict[str, Any]] = []

    def look(step: int, model: BlockModel) -> None:
        if step not in MOMENTS:
            return
        with torch.no_grad():
            model(ids["valid"][: 32 * 128].view(32, 128).to(device_of(model)))
            shares = [shares_of(routed(mixture)[1], len(mixture.experts)).tolist() for mixture in model.experts()]
            model(sentence.to(device_of(model)))
            chosen = [routed(mixture)[1].tolist() for mixture in model.experts()]
        moments.append({"step": step, "shares": [[round(share, 3) for share in row] for row in shares],
                        "chosen": chosen})  # fmt: skip

    with one_thread():
        model = build_block_model(replace(TODAY, feed_forward="experts"), Size(), seed).to(pick_device())
        look(0, model)
        losses = torch.tensor(fit(model, ids["train"], Recipe(steps=steps, balancing=balancing), seed, look))
        loss = float(held_out_loss(model, ids["valid"]).mean())
    found = {"balancing": balancing, "seed": seed, "loss": round(loss, 4)}
    last = moments[-1]["shares"]
    found["idle"] = sum(share < 0.01 for row in last for share in row)  # of layers times experts
    found["largest"] = max(share for row in last for share in row)
    if seed == 0:
        found["curve"] = [round(float(part.mean()), 3) for part in losses.split(50)]
        found["moments"] = moments
    return found


@experiment("experts")
def record_experts(
    folder: Path = FOLDER, seeds: Sequence[int] = SEEDS, steps: int = 1500, processes: int = PROCESSES
) -> dict[str, Any]:
    """Eight experts, two for each token, with two ways of balancing them and with none. Reads `tinystories/`."""
    runs = in_processes(partial(route, steps=steps, folder=folder), list(product(BALANCING, seeds)), processes)
    tokenizer = pretrained.load_stories().tokenizer
    pieces = [tokenizer.decode([token]) for token in tokenizer.encode(SENTENCE)]
    return {"steps": steps, "device": device_name(), "pieces": pieces, "runs": runs}
