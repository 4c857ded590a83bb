"""What each change costs: time of a training step, memory for its way back, the cache, time of a written token.

Times are ratios to the paper's block, taken in turns in one run: a machine that is busy is busy for all (chapter 19).
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from experiments.modern_block import Variant, block_of, variants
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.modern_block import BlockModel, Size, build_block_model, kept

TOKENS = 512  # of the text whose cache is counted
WRITTEN = 64


def one_step(model: BlockModel, ids: torch.Tensor) -> None:
    """Forward and back."""
    F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()


@torch.no_grad()
def written(model: BlockModel, ids: torch.Tensor) -> None:
    """WRITTEN tokens, one after another, with the cache; which ones does not matter here."""
    cache = model.start_cache()
    for place in range(WRITTEN):
        model(ids[:1, place : place + 1], cache)


def bytes_for_backward(model: BlockModel, ids: torch.Tensor) -> int:
    """What a forward pass keeps for the backward pass, each storage counted once, parameters not."""
    held = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    found: dict[int, int] = {}
    alive = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in held:
            found[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)  # or its place could be another's
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    return sum(found.values())


def seconds(run: Callable[[], None]) -> float:
    """How long it took."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


@experiment("block-costs")
def record_block_costs(
    size: Size | None = None, batch_size: int = 8, rounds: int = 9, only: Sequence[Variant] | None = None
) -> dict[str, Any]:
    """Time, memory and cache of each change from the paper's block, and of today's. Two minutes on two cores.

    Returns:
        "tokens", and of each variant "step", "token" (medians of ratios to the paper's block in the same round),
        "backward" (MB that a forward pass keeps), "cache" (kB of a text of "tokens", float32); the paper's own
        "milliseconds" of a step and of a token.
    """
    size = size or Size()
    chosen = [variant for variant in only or variants() if variant[0] == "2017" or not variant[1]]
    models = [build_block_model(block_of(*variant), size) for variant in chosen]
    ids = torch.randint(size.vocab_size, (batch_size, size.context + 1), generator=torch.Generator().manual_seed(0))
    times: dict[str, list[list[float]]] = {"step": [], "token": []}
    for _ in range(rounds + 1):  # the first one warms up
        times["step"].append([seconds(lambda model=model: one_step(model, ids)) for model in models])  # type: ignore[misc]
        times["token"].append([seconds(lambda model=model: written(model, ids)) for model in models])  # type: ignore[misc]
    ratios = {
        name: [round(statistics.median(row[at] / row[0] for row in rows[1:]), 3) for at in range(len(models))]
        for name, rows in times.items()
    }
    return {
        "tokens": TOKENS,
        "milliseconds": {
            "step": round(1000 * statistics.median(row[0] for row in times["step"][1:]), 1),
            "token": round(1000 * statistics.median(row[0] for row in times["token"][1:]) / WRITTEN, 3),
        },
        "variants": [
            {
                "base": base, "field": field, "value": value,
                "step": ratios["step"][at], "token": ratios["token"][at],
                "backward": round(bytes_for_backward(models[at], ids) / 1e6, 1),
                "cache": round(4 * kept(block_of(base, field, value), size, TOKENS) / 1024, 1),
            }
            for at, (base, field, value) in enumerate(chosen)
        ],
    }  # fmt: skip
