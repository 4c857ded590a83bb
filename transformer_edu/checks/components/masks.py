"""Checks the causal mask, the padding mask and the two together."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit, as_tensor
from transformer_edu.masks import causal_mask, padding_mask

HEADS = 4  # a mask has to serve any number of heads


def check_causal_mask(fn: Callable[..., Tensor]) -> None:
    """Check fn(size) -> boolean mask that broadcasts to (batch, heads, size, size), True = may attend."""
    need_callable("fn", fn)
    CAUSAL.check(fn)


def check_padding_mask(fn: Callable[..., Tensor]) -> None:
    """Check fn(ids, pad_id) -> boolean mask that broadcasts to (batch, heads, seq, seq), True = may attend."""
    need_callable("fn", fn)
    PADDING.check(fn)


def check_target_mask(fn: Callable[..., Tensor]) -> None:
    """Check fn(ids, pad_id) -> boolean mask, causal and padding together, broadcasting as the other two."""
    need_callable("fn", fn)
    TARGET.check(fn)


def read_mask(result: Any, batch: int, seq: int) -> dict[str, Any]:
    """The mask as attention will see it: broadcast to (batch, heads, q_len, k_len), and whether it is boolean."""
    mask, shape = as_tensor(result, "a mask"), (batch, HEADS, seq, seq)
    try:
        fits = torch.broadcast_shapes(mask.shape, shape) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise Unfit(f"shape {tuple(mask.shape)}, which does not broadcast to (batch, heads, q_len, k_len) = {shape}")
    kind = "booleans" if mask.dtype == torch.bool else "numbers"
    return {"mask (1 = may attend)": one_head(mask.expand(shape)), "entries are": kind}


def one_head(mask: Tensor) -> Tensor:
    """(batch, heads, seq, seq) -> (batch, seq, seq) where all heads have the same mask, which is easier to read."""
    same = bool((mask == mask[:, :1]).all())
    return (mask[:, 0] if same else mask).float()


def _from_size(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return read_mask(fn(*given.values()), 1, given["size"])


def _from_ids(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return read_mask(fn(*given.values()), *given["ids"].shape)


def _ids_trials() -> list[Trial]:
    sentences = {
        "one sentence, its last token is padding": ([[5, 8, 0]], 0),
        "two sentences of different length": ([[5, 8, 9], [7, 0, 0]], 0),
        "three sentences of three tokens": ([[5, 8, 9], [7, 0, 0], [6, 5, 0]], 0),
        "a padding id other than 0": ([[5, 1, 0, 3]], 3),
    }
    return [
        Trial(title, {"ids": torch.tensor(ids), "pad_id": pad_id}, _from_ids)
        for title, (ids, pad_id) in sentences.items()
    ]


def both_masks(ids: Tensor, pad_id: int) -> Tensor:
    """Causal and padding together, (batch, 1, seq, seq)."""
    return causal_mask(ids.shape[1]) & padding_mask(ids, pad_id)


CAUSAL = Component(
    "causal mask",
    reference=causal_mask,
    trials=[
        Trial("three tokens", {"size": 3}, _from_size),
        Trial("a single token", {"size": 1}, _from_size),
        Trial("five tokens", {"size": 5}, _from_size),
    ],
)
PADDING = Component("padding mask", reference=padding_mask, trials=_ids_trials())
TARGET = Component("target mask", reference=both_masks, trials=_ids_trials())
