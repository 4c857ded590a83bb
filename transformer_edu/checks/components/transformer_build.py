"""What a freshly built encoder–decoder is made of: layers, dropout, the embeddings' factor, tying."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.checks.engine import Trial
from transformer_edu.checks.engine.compare import Unfit, change

SMALL = {"d_model": 16, "num_heads": 2, "d_ff": 32, "num_layers": 2, "dropout": 0.0, "pad_id": 0, "max_len": 32}


def small(build: Any, sizes: tuple[int, int] = (11, 13), **changes: Any) -> Any:
    """A model with a d_model of 16 and two layers, dropout 0, with these fields changed."""
    model = build(*sizes, **{**SMALL, **changes})
    if not isinstance(model, nn.Module):
        raise Unfit(f"makes a {type(model).__name__}, expected a torch.nn.Module")
    return model


def _layers(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Do layers register, are they different layers, do they start from different weights?"""
    one, two = (small(build, num_layers=n) for n in (1, 2))
    matrices = [p.detach() for p in two.parameters() if p.dim() == 2]
    twins = any(a.shape == b.shape and torch.equal(a, b) for i, a in enumerate(matrices) for b in matrices[:i])
    inner = [p for p in one.parameters() if p.dim() == 2 and p.shape[0] not in (11, 13)]
    return {
        "the layers' matrices are among model.parameters()": bool(inner),
        "a second layer adds parameters": _size(two) > _size(one),
        "two layers start with the same matrix": twins,
    }


def _size(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


@torch.no_grad()
def _dropout(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    model = small(build, num_layers=1, dropout=given["dropout"])
    found = {}
    for mode in ("training", "eval"):
        model.train(mode == "training")
        first, second = (model(given["source"], given["target"]) for _ in range(2))
        found[f"logits of a second pass in {mode} mode"] = change(first, second)
    return found


@torch.no_grad()
def _factors(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """By what the difference of two tokens' embeddings is multiplied before the first layer (the position cancels)."""
    model = small(build, num_layers=1).eval()
    source, target = given.values()
    memory = model.encode(source[:1].expand(2, 1))
    return {
        "factor of the source embedding": _factor(model, 11, source, lambda: model.encode(source)),
        "factor of the target embedding": _factor(
            model, 13, target, lambda: model.decode(target, memory, source[:1].expand(2, 1))
        ),
    }


def _factor(model: nn.Module, vocab_size: int, ids: Tensor, run: Callable[[], Any]) -> float | None:
    """The largest factor met at the door of any module; None for a model without an nn.Embedding of this size."""
    lookups = [m for m in model.modules() if isinstance(m, nn.Embedding) and m.num_embeddings == vocab_size]
    if not lookups:
        return None
    plain = lookups[0].weight[ids[0, 0]] - lookups[0].weight[ids[1, 0]]
    factors = [1.0]

    def measure(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        x = inputs[0] if inputs else None
        if isinstance(x, Tensor) and x.shape == (2, 1, plain.shape[0]):
            ratio = (x[0, 0] - x[1, 0]) / plain
            if torch.allclose(ratio, ratio.median().expand_as(ratio), rtol=1e-2):  # a multiple, not a layer's output
                factors.append(round(float(ratio.median()), 2))

    hooks = [module.register_forward_pre_hook(measure) for module in model.modules()]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return max(factors)


def _tied(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """How many different matrices have a row for each word, with one vocabulary for both languages."""
    found = {}
    for tie in ("none", "target", "all"):
        matrices = [p for p in small(build, (13, 13), num_layers=1, tie_embeddings=tie).parameters() if p.dim() == 2]
        found[f"vocabulary matrices with tie_embeddings={tie!r}"] = sum(13 in p.shape for p in matrices)
    return found


BUILD_TRIALS = [
    Trial("models of one and of two layers", {}, _layers),
    Trial(
        "two passes with dropout 0.5",
        {"source": torch.tensor([[3, 4]]), "target": torch.tensor([[1, 5, 6]]), "dropout": 0.5},
        _dropout,
    ),
    Trial(
        "the scale of the embeddings, d_model 16",
        {"source": torch.tensor([[3], [4]]), "target": torch.tensor([[5], [6]])},
        _factors,
    ),
    Trial("tied and untied embeddings", {}, _tied),
]
