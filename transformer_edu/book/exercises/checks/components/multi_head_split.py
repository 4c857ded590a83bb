"""Checks how vectors are cut into heads and put back together."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor, gradient_of

Split = Callable[[Tensor, int], Tensor]
Merge = Callable[[Tensor], Tensor]


def check_multi_head_split(split: Split, merge: Merge) -> None:
    """Check split(x, num_heads): (batch, seq, d_model) -> (batch, heads, seq, d_head), and merge, its inverse."""
    COMPONENT.check(split=split, merge=merge)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(batch, seq, d_model) -> (batch, heads, seq, d_head)."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(heads: Tensor) -> Tensor:
    """(batch, heads, seq, d_head) -> (batch, seq, d_model)."""
    return heads.transpose(1, 2).flatten(-2)


def _split(pair: Any, given: dict[str, Any]) -> dict[str, Any]:
    return {"split(x, num_heads)": as_tensor(pair[0](*given.values()))}


def _merge(pair: Any, given: dict[str, Any]) -> dict[str, Any]:
    return {"merge(heads)": as_tensor(pair[1](given["heads"]))}


TOKENS = torch.tensor([[[11.0, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34]]])  # token 1, 2, 3; feature 1 .. 4
TWO_SENTENCES = torch.cat([TOKENS, TOKENS + 100])

COMPONENT = Component(
    "split and merge",
    chapter=7,
    reference=(split_heads, merge_heads),
    trials=[
        Trial("splitting three tokens into two heads", {"x": TOKENS, "num_heads": 2}, _split),
        Trial("splitting two sentences", {"x": TWO_SENTENCES, "num_heads": 2}, _split),
        Trial("splitting into one head", {"x": TOKENS, "num_heads": 1}, _split),
        Trial("merging two heads of three tokens", {"heads": split_heads(TOKENS, 2)}, _merge),
        Trial("merging two sentences", {"heads": split_heads(TWO_SENTENCES, 2)}, _merge),
    ],
    gradient=gradient_of("x", "heads", call=lambda pair, given: pair["heads" in given](*given.values())),
)
mistake = COMPONENT.mistake


def _split_as_view(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def _split_dealt(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def _split_without_transpose(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1))


def _merge_as_view(heads: Tensor) -> Tensor:
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def _merge_features_first(heads: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(-2)


mistake(
    "split is a single view: the tokens of one head come from different tokens",
    symptom="shapes are right, but each head sees a jumble of pieces; the causal mask leaks",
    why="(batch, seq, d_model) viewed as (batch, heads, seq, d_head) cuts across the rows.",
    hint="Cut d_model into (heads, d_head) first, where it stands. Which two dimensions then change places?",
)((_split_as_view, merge_heads))
mistake(
    "split lacks the transpose: heads stand where tokens should",
    symptom="attention runs between the heads of one token, not between tokens",
    why="the result is (batch, seq, heads, d_head).",
    hint="Attention works on the last two dimensions. Which two should these be?",
)((_split_without_transpose, merge_heads))
mistake(
    "split deals the features out in turn (0, 2 to the first head, 1, 3 to the second)",
    symptom="none when training from scratch, but weights of other implementations do not fit",
    why="d_model is cut as (d_head, heads); it should be (heads, d_head), neighbours together.",
    hint="Which features belong to the first head in your version?",
)((_split_dealt, merge_heads))
mistake(
    "merge lacks the transpose: the numbers stay in the order of heads",
    symptom="shapes are right and the loss falls, but early outputs depend on later tokens",
    why="(batch, heads, seq, d_head) viewed as (batch, seq, d_model) puts pieces of different tokens into one row.",
    hint="Which dimension must stand beside d_head before the two can become d_model?",
)((split_heads, _merge_as_view))
mistake(
    "merge interleaves the heads' features",
    symptom="none when training from scratch, but merge does not undo split",
    why="the last two dimensions are (d_head, heads) when they are flattened; they should be (heads, d_head).",
    hint="merge(split(x)) should be x. In which order do the features come back?",
)((split_heads, _merge_features_first))
