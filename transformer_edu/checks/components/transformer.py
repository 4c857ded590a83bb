"""Checks a whole encoder–decoder from outside: what may a changed input change? Mistakes: `transformer_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.checks.components.transformer_build import BUILD_TRIALS, small
from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import as_tensor, change
from transformer_edu.checks.engine.side_effects import forgotten_parameters
from transformer_edu.transformer import build_transformer


def check_transformer(build: Callable[..., nn.Module]) -> None:
    """Check build(source_vocab_size, target_vocab_size, **config_fields) -> model.

    The model has encode(source), decode(target, memory, source), project(x) and forward(source, target), and takes
    the fields d_model, num_heads, d_ff, num_layers, dropout, pad_id, max_len and tie_embeddings.
    """
    need_callable("build", build)
    TRANSFORMER.check(build)


def _logits(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    logits = as_tensor(small(build, num_layers=1)(given["source"], given["target"])).double()
    sums = {"logits": logits.sum(-1), "exp(logits)": logits.exp().sum(-1)}
    return {
        "shape of the logits": tuple(logits.shape),
        **{f"rows of {name} sum to one": bool(((total - 1).abs() < 1e-4).all()) for name, total in sums.items()},
    }


@torch.no_grad()
def _future(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Change the last target token and look at the logits before it."""
    found = {}
    for heads in (2, 1):
        model = small(build, num_heads=heads)
        for mode in ("training", "eval"):
            model.train(mode == "training")
            before, after = (model(given["source"], given[name])[:, :-1] for name in ("target", "changed"))
            found[f"logits before the last token ({mode} mode, num_heads={heads})"] = change(before, after)
    return found


@torch.no_grad()
def _source_padding(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Pad the source further; then change the padding's own rows of the memory."""
    source, padded, target, pad_id = given.values()
    model = small(build, pad_id=pad_id).eval()
    memory, padded_memory = model.encode(source), model.encode(padded)
    real = source.shape[1]
    other = padded_memory.clone()
    other[:, real:] += 1.0
    return {
        "memory of the real tokens, after more padding": change(memory, padded_memory[:, :real]),
        "logits, after more padding": change(model(source, target), model(padded, target)),
        "decoder's output, when the memory's padding rows change": change(
            model.decode(target, padded_memory, padded), model.decode(target, other, padded)
        ),
    }


@torch.no_grad()
def _target_padding(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Change the vector of the padding token and look at a real token after it."""
    source, target, pad_id = given.values()
    model = small(build, pad_id=pad_id).eval()
    memory = model.encode(source)
    before = model.decode(target, memory, source)[:, -1]
    for parameter in model.parameters():
        if parameter.dim() == 2 and parameter.shape[0] == TARGET_VOCAB:
            parameter[pad_id] += 1.0
    after = model.decode(target, memory, source)[:, -1]
    return {"the last token's output, when the padding token's vector changes": change(before, after)}


@torch.no_grad()
def _memory(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    source, other, target = given.values()
    model = small(build, num_layers=1).eval()
    return {"logits, after another source": change(model(source, target), model(other, target))}


@torch.no_grad()
def _order(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Swap the first two tokens: without positions the other tokens cannot tell."""
    source, target = given.values()
    model, swap = small(build, num_layers=1).eval(), [1, 0, 2]
    memory = model.encode(source)
    swapped = model.encode(source[:, swap])
    decoded, decoded_swapped = (model.decode(ids, memory, source) for ids in (target, target[:, swap]))
    return {
        "memory of the third token, when the first two change places": change(memory[:, 2], swapped[:, 2]),
        "decoder's output for the third token, when the first two change places": change(
            decoded[:, 2], decoded_swapped[:, 2]
        ),
    }


def _forgotten(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    if given.keys() != BOTH.keys():
        return {}
    model = small(build).eval()
    names = forgotten_parameters(model, lambda: model(given["source"], given["target"]))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return {"parameters that matter and get no gradient": ", ".join(names[:3]) + more or "none"}


def _ids(*ids: int) -> Tensor:
    return torch.tensor([ids])


TARGET_VOCAB = 13
BOTH = {"source": _ids(3, 4), "target": _ids(1, 5, 6)}

TRANSFORMER = Component(
    "transformer",
    reference=build_transformer,
    trials=[
        Trial("the logits of three tokens, 13 words", BOTH, _logits),
        *BUILD_TRIALS,
        Trial("changing the last target token", {**BOTH, "changed": _ids(1, 5, 7)}, _future),
        Trial(
            "more padding after the source",
            {"source": _ids(3, 4), "padded": _ids(3, 4, 0, 0), "target": _ids(1, 5), "pad_id": 0},
            _source_padding,
        ),
        Trial(
            "more padding after the source, with pad_id 2",
            {"source": _ids(3, 4), "padded": _ids(3, 4, 2, 2), "target": _ids(1, 5), "pad_id": 2},
            _source_padding,
        ),
        Trial(
            "padding inside the target",
            {"source": _ids(3, 4), "target": _ids(1, 0, 5), "pad_id": 0},
            _target_padding,
        ),
        Trial("another source", {"source": _ids(3, 4), "other": _ids(3, 5), "target": _ids(1, 5)}, _memory),
        Trial("tokens in another order", {"source": _ids(3, 4, 5), "target": _ids(1, 5, 6)}, _order),
    ],
    gradient=_forgotten,
)
