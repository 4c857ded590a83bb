"""Trained on short texts, read on longer ones: five kinds of positions, and rotary ones slowed down (chapter 19)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from experiments.modern_block import FOLDER, PROCESSES, SEEDS, device_name, ids_of
from experiments.processes import in_processes
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.modern_block import (
    CHOICES,
    TODAY,
    BlockModel,
    Recipe,
    Size,
    build_block_model,
    fit,
    held_out_loss,
)
from transformer_edu.parts.rotary import linear, ntk, yarn, yarn_gain
from transformer_edu.support.device import pick_device
from transformer_edu.support.threads import one_thread

SHORT, LONG = 64, 256
SCALINGS: dict[str, Any] = {
    "linear": lambda factor: (linear(factor), 1.0),
    "NTK": lambda factor: (ntk(factor), 1.0),
    "YaRN": lambda factor: (yarn(factor, SHORT), yarn_gain(factor)),
}


def read_longer(positions: str, seed: int, steps: int, folder: Path) -> list[dict[str, Any]]:
    """Train at SHORT tokens, read at LONG; the loss of each quarter of LONG, and with each scaling of rotary ones."""
    ids, size = ids_of(folder), Size(context=SHORT)
    with one_thread():
        model = build_block_model(replace(TODAY, positions=positions), size, seed).to(pick_device())
        fit(model, ids["train"], Recipe(steps=steps, batch_size=64), seed)
        rows = [{"positions": positions, "scaling": "", **_quarters(model, ids["valid"])}]
        for name, scaled in SCALINGS.items() if positions == "rotary" else ():
            for layer in list[Any](model.decoder.layers):
                turns: Any = layer.self_attention.rotate
                turns.scaling, turns.gain = scaled(LONG / SHORT)
                turns.table = turns.make_table(*turns.table.shape).to(turns.table)
            rows.append({"positions": positions, "scaling": name, **_quarters(model, ids["valid"])})
    return [{"seed": seed, **row} for row in rows]


def _quarters(model: BlockModel, ids: torch.Tensor) -> dict[str, Any]:
    by_place = held_out_loss(model, ids, LONG)
    return {"quarters": [round(float(part.mean()), 4) for part in by_place.split(SHORT)],
            "short": round(float(held_out_loss(model, ids, SHORT).mean()), 4)}  # fmt: skip


@experiment("longer-texts")
def record_longer_texts(
    folder: Path = FOLDER, seeds: Sequence[int] = SEEDS, steps: int = 1500, processes: int = PROCESSES
) -> dict[str, Any]:
    """Today's block with five kinds of positions, trained at 64 tokens and read at 256. Reads `tinystories/`."""
    jobs = list(product(CHOICES["positions"], seeds))
    found = in_processes(partial(read_longer, steps=steps, folder=folder), jobs, processes)
    return {"steps": steps, "trained": SHORT, "read": LONG, "device": device_name(),
            "rows": [row for rows in found for row in rows]}  # fmt: skip
