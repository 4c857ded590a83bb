"""What each change since 2017 buys: one block, a change at a time, from both ends (chapter 19).

All runs read the same stories in the same order. On a GPU they take a quarter of an hour together; on two cores, days.
"""

import os
from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from experiments.processes import in_processes
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
    changed,
    count,
    fit,
    held_out_loss,
    routed,
    story_ids,
)
from transformer_edu.inspect.record import record_attention
from transformer_edu.parts.experts import shares_of
from transformer_edu.parts.rotary import linear, ntk, yarn, yarn_gain
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
    return changed(BASES[base], **{field: value}) if field else BASES[base]


@cache
def _ids(folder: Path) -> dict[str, torch.Tensor]:
    return story_ids(folder)


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
    ids = _ids(folder)
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
    run = partial(_run, folder=folder, size=size)
    trial = partial(run, steps=trial_steps)

    def tried_at(some: Sequence[Variant], *at: float) -> list[list[float]]:
        found = in_processes(trial, [(*one, TRIAL, rate) for one, rate in product(some, at)], processes)
        return [[row["loss"] for row in found[i : i + len(at)]] for i in range(0, len(found), len(at))]

    tried = tried_at(chosen, *rates, FASTER)
    best = [rates[min(range(len(rates)), key=row.__getitem__)] for row in tried]
    bold = [one for one in BOLD if one in chosen]
    jobs = [(*one, seed, rate) for one, rate in (*zip(chosen, best, strict=True), *((one, FASTER) for one in bold))
            for seed in seeds]  # fmt: skip
    found = iter(in_processes(partial(run, steps=steps), jobs, processes))
    rows = []
    for one, row in zip(chosen, tried, strict=True):
        model = build_block_model(block_of(*one), size)
        runs = [next(found) for _ in seeds]
        for other in runs[1:]:
            del other["curve"]
        rows.append({**_named(one), "parameters": count(model), "active": active(model), "d_ff": model.d_ff,
                     "tried": row, "runs": runs})  # fmt: skip
    plain = [one for one in chosen if not one[1]]
    return {
        "steps": steps, "trial_steps": trial_steps, "rates": list(rates), "faster": FASTER, "fastest_rate": FASTEST,
        "device": _device(), "frequencies": frequencies_alone(_ids(folder), size.vocab_size), "variants": rows,
        "bold": [{**_named(one), "losses": [next(found)["loss"] for _ in seeds]} for one in bold],
        "fastest": [{"base": one[0], "loss": row[0]} for one, row in zip(plain, tried_at(plain, FASTEST), strict=True)],
    }  # fmt: skip


def _named(one: Variant) -> dict[str, Any]:
    return dict(zip(("base", "field", "value"), one, strict=True))


def _run(base: str, field: str, value: Any, seed: int, rate: float, **more: Any) -> dict[str, Any]:
    return run_variant(base, field, value, seed, rate, **more)


def _device() -> str:
    device = pick_device()
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


SHORT, LONG = 64, 256
SCALINGS: dict[str, Any] = {
    "linear": lambda factor: (linear(factor), 1.0),
    "NTK": lambda factor: (ntk(factor), 1.0),
    "YaRN": lambda factor: (yarn(factor, SHORT), yarn_gain(factor)),
}


def read_longer(positions: str, seed: int, steps: int, folder: Path) -> list[dict[str, Any]]:
    """Train at SHORT tokens, read at LONG; the loss of each quarter of LONG, and with each scaling of rotary ones."""
    ids, size = _ids(folder), Size(context=SHORT)
    with one_thread():
        model = build_block_model(changed(TODAY, positions=positions), size, seed).to(pick_device())
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
    return {"steps": steps, "trained": SHORT, "read": LONG, "device": _device(),
            "rows": [row for rows in found for row in rows]}  # fmt: skip


BALANCING = ("none", "loss", "bias")
MOMENTS = (0, 10, 25, 50, 100, 200, 300, 500, 750, 1000, 1250, 1500)
SENTENCE = "Once upon a time there was a little cat. She liked to play with a red ball."


def route(balancing: str, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Train a mixture of experts; which of them tokens go to, at a dozen moments, and the loss in the end."""
    from transformer_edu import pretrained

    ids, tokenizer = _ids(folder), pretrained.load_stories().tokenizer
    sentence = torch.tensor([tokenizer.encode(SENTENCE)])
    moments: list[dict[str, Any]] = []

    def look(step: int, model: BlockModel) -> None:
        if step not in MOMENTS:
            return
        with torch.no_grad():
            model(ids["valid"][: 32 * 128].view(32, 128).to(device_of(model)))
            shares = [shares_of(routed(one)[1], len(one.experts)).tolist() for one in model.experts()]
            model(sentence.to(device_of(model)))
            chosen = [routed(one)[1].tolist() for one in model.experts()]
        moments.append({"step": step, "shares": [[round(share, 3) for share in row] for row in shares],
                        "chosen": chosen})  # fmt: skip

    with one_thread():
        model = build_block_model(changed(TODAY, feed_forward="experts"), Size(), seed).to(pick_device())
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
    from transformer_edu import pretrained

    runs = in_processes(partial(route, steps=steps, folder=folder), list(product(BALANCING, seeds)), processes)
    tokenizer = pretrained.load_stories().tokenizer
    pieces = [tokenizer.decode([token]) for token in tokenizer.encode(SENTENCE)]
    return {"steps": steps, "device": _device(), "pieces": pieces, "runs": runs}
