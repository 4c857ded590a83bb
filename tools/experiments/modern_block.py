"""What each change since 2017 buys: one block, a change at a time, from both ends (chapter 19).

All runs read the same stories in the same order. On a GPU they take a quarter of an hour together; on two cores, days.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from experiments.processes import in_processes
from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.modern_block import (
    CHOICES,
    PAPER,
    TODAY,
    Block,
    BlockModel,
    Recipe,
    Size,
    active,
    build_block_model,
    count,
    fit,
    held_out_loss,
)
from transformer_edu.inspect.record import record_attention
from transformer_edu.language.task import read_texts
from transformer_edu.support.device import device_of, pick_device
from transformer_edu.support.threads import one_thread

FOLDER = Path("tinystories")
Variant = tuple[str, str, Any]  # base, field, its value; a base as it is: "" and None
BASES = {"2017": PAPER, "today": TODAY}
SEEDS = (0, 1, 2, 3, 4)
RATES = (0.001, 0.002, 0.004)
TRIAL = 5  # the seed of the runs that choose a rate, and of no other
FASTER = 0.008  # a rate at which not every block learns
FASTEST = 0.016
BOLD = (  # five seeds at FASTER, too
    ("2017", "", None),
    ("2017", "placed", "before the part"),
    ("2017", "positions", "rotary"),
    ("today", "", None),
    ("today", "placed", "behind the sum"),
)
PROCESSES = max(2, (os.cpu_count() or 2) - 1)


def variants() -> list[Variant]:
    """Each base as it is, and with each field at each other value: (base, field, value)."""
    found: list[Variant] = []
    for name, block in BASES.items():
        found.append((name, "", None))
        found += [(name, field, value) for field, values in CHOICES.items() for value in values
                  if value != getattr(block, field)]  # fmt: skip
    return found


def block_of(base: str, field: str, value: Any) -> Block:
    """The block of a variant."""
    return replace(BASES[base], **{field: value}) if field else BASES[base]


@cache
def ids_of(folder: Path) -> dict[str, torch.Tensor]:
    """The stories of a folder as rows of ids, end tokens between them: "train" and "valid"; read once a process."""
    tokenizer = pretrained.load_stories().tokenizer
    found = {}
    for split in ("train", "valid"):
        texts = tokenizer.encode_batch(read_texts([str(folder / f"{split}.txt.gz")]))
        found[split] = torch.tensor([token for text in texts for token in (*text, tokenizer.eos_id)])
    return found


@torch.no_grad()
def on_first(model: BlockModel, ids: torch.Tensor) -> float | None:
    """The part of the attention of tokens 32 and later that goes to the first one; mean over heads and layers."""
    if model.block.keys == "latent":
        return None
    rows = ids[: 16 * model.size.context].view(16, -1).to(device_of(model))
    with record_attention(model) as maps:
        model(rows)
    return round(float(torch.stack([weights[:, :, 32:, 0].mean() for weights in maps.values()]).mean()), 4)


def run_variant(
    base: str, field: str, value: Any, seed: int, rate: float, steps: int, folder: Path, size: Size
) -> dict[str, Any]:
    """Train one model; "loss" on held-out stories (nats a token), "curve": training loss, means of 50 steps."""
    ids = ids_of(folder)
    with one_thread():
        model = build_block_model(block_of(base, field, value), size, seed).to(pick_device())
        losses = torch.tensor(fit(model, ids["train"], Recipe(steps=steps, rate=rate), seed))
        loss = float(held_out_loss(model, ids["valid"]).mean())
        first = on_first(model, ids["valid"])
    curve = [round(float(part.mean()), 3) for part in losses.split(50)]
    return {"seed": seed, "rate": rate, "loss": round(loss, 4), "first": first, "curve": curve}


def frequencies_alone(ids: dict[str, torch.Tensor], vocab_size: int) -> float:
    """The held-out loss of who knows how frequent each token is, and reads nothing."""
    often = torch.bincount(ids["train"], minlength=vocab_size).double() + 1
    return round(float(-(often / often.sum()).log()[ids["valid"]].mean()), 4)


@experiment("modern-block")
def record_modern_block(
    folder: Path = FOLDER,
    seeds: Sequence[int] = SEEDS,
    rates: Sequence[float] = RATES,
    steps: int = 1000,
    trial_steps: int = 500,
    size: Size | None = None,
    processes: int = PROCESSES,
    only: Sequence[Variant] | None = None,
) -> dict[str, Any]:
    """Every change from both ends, each at the best of three learning rates, five seeds. Reads `tinystories/`.

    Returns:
        "steps", "trial_steps", "rates", "faster"; and one dict for each variant: "base", "field", "value", "d_ff",
        "parameters", "active" (those that one token passes), "tried" (loss at each rate and at "faster", of one
        more seed and fewer steps), "runs" (see `run_variant`; curve of the first seed). "bold": losses at "faster"
        of BOLD. "fastest": that of each base, tried at "fastest_rate". "frequencies": see `frequencies_alone`.
    """
    size = size or Size()
    chosen = list(only or variants())
    run = partial(run_variant, folder=folder, size=size)
    trial = partial(run, steps=trial_steps)

    def tried_at(some: Sequence[Variant], *at: float) -> list[list[float]]:
        found = in_processes(trial, [(*variant, TRIAL, rate) for variant, rate in product(some, at)], processes)
        return [[row["loss"] for row in found[i : i + len(at)]] for i in range(0, len(found), len(at))]

    tried = tried_at(chosen, *rates, FASTER)
    best = [rates[min(range(len(rates)), key=row.__getitem__)] for row in tried]
    bold = [variant for variant in BOLD if variant in chosen]
    jobs = [(*key, seed, rate) for key, rate in (*zip(chosen, best, strict=True), *((key, FASTER) for key in bold))
            for seed in seeds]  # fmt: skip
    found = iter(in_processes(partial(run, steps=steps), jobs, processes))
    rows = []
    for variant, row in zip(chosen, tried, strict=True):
        model = build_block_model(block_of(*variant), size)
        runs = [next(found) for _ in seeds]
        for other in runs[1:]:
            del other["curve"]
        rows.append({**_named(variant), "parameters": count(model), "active": active(model), "d_ff": model.d_ff,
                     "tried": row, "runs": runs})  # fmt: skip
    plain = [variant for variant in chosen if not variant[1]]
    return {
        "steps": steps, "trial_steps": trial_steps, "rates": list(rates), "faster": FASTER, "fastest_rate": FASTEST,
        "device": device_name(), "frequencies": frequencies_alone(ids_of(folder), size.vocab_size), "variants": rows,
        "bold": [{**_named(variant), "losses": [next(found)["loss"] for _ in seeds]} for variant in bold],
        "fastest": [{"base": key[0], "loss": row[0]} for key, row in zip(plain, tried_at(plain, FASTEST), strict=True)],
    }  # fmt: skip


def _named(variant: Variant) -> dict[str, Any]:
    return dict(zip(("base", "field", "value"), variant, strict=True))


def device_name() -> str:
    """What the runs were made on."""
    device = pick_device()
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
