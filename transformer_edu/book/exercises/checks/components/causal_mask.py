"""Checks the causal mask."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor
from transformer_edu.masks import causal_mask

HEADS = 4  # a mask has to serve any number of heads


def check_causal_mask(fn: Callable[..., Tensor]) -> None:
    """Check fn(size) -> boolean mask that broadcasts to (batch, heads, size, size), True = may attend."""
    COMPONENT.check(fn=fn)


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


def _observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return read_mask(fn(*given.values()), 1, given["size"])


COMPONENT = Component(
    "causal mask",
    chapter=6,
    reference=causal_mask,
    trials=[
        Trial("three tokens", {"size": 3}, _observe),
        Trial("a single token", {"size": 1}, _observe),
        Trial("five tokens", {"size": 5}, _observe),
    ],
)
mistake = COMPONENT.mistake

mistake(
    "the mask is inverted: True marks what is blocked",
    symptom="every token sees only later ones, and the last sees nothing",
    why="here True means *may attend*; torch.nn.MultiheadAttention's masks mean the opposite.",
    hint="Read your first row aloud: may the first token look at itself?",
)(lambda size: ~causal_mask(size))
mistake(
    "it is the upper triangle: each token sees itself and the future",
    symptom="the loss falls to almost nothing in training; generated text is nonsense",
    why="row q is the query, column k the key; the past of q is k ≤ q, to the left of the diagonal.",
    hint="Which triangle holds the columns to the left of the diagonal, the upper one or the lower?",
)(lambda size: torch.ones(size, size).triu().bool())
mistake(
    "the diagonal is left out: a token cannot see itself",
    symptom="the first token has nothing to look at, which gives NaN or zeros",
    why="position q may attend to 0 .. q, and q is included.",
    hint="Which diagonal does the second argument of tril or triu name, and which one do you need?",
)(lambda size: torch.ones(size, size).tril(-1).bool())
mistake(
    "each token also sees the next one",
    symptom="near-perfect training loss: the next token is exactly the answer",
    why="the triangle reaches one diagonal too far.",
    hint="How many ones should the first row have?",
)(lambda size: torch.ones(size, size).tril(1).bool())
mistake(
    "nothing is blocked",
    symptom="the loss falls to almost nothing in training; generated text is nonsense",
    why="every entry is True, so each token sees the whole future.",
    hint="Which entries (row q, column k) should be False?",
)(lambda size: torch.ones(size, size, dtype=torch.bool))
mistake(
    "the entries are numbers, 1 and 0, not booleans",
    symptom="`~mask` fails, or an attention that adds masks adds 1 and 0",
    why="tril keeps the dtype of what it gets, and torch.ones makes floats.",
    hint="The pattern is right. Which dtype does the contract want, and where can you ask for it?",
)(lambda size: torch.ones(size, size).tril())
mistake(
    "it is an additive mask (0 and -inf), not a boolean one",
    symptom="an attention that expects booleans blocks what it should allow",
    why="two conventions exist: numbers to add to the scores, and booleans that say who may look. This is the first.",
    hint="Which places should be True? Write the condition itself.",
)(lambda size: torch.zeros(size, size).masked_fill(~causal_mask(size), float("-inf")))
