"""Checks the padding mask."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.components.causal_mask import read_mask
from transformer_edu.book.exercises.checks.engine import Component, Trial
from transformer_edu.masks import padding_mask


def check_padding_mask(fn: Callable[..., Tensor]) -> None:
    """Check fn(ids, pad_id) -> boolean mask that broadcasts to (batch, heads, seq, seq), True = may attend."""
    COMPONENT.check(fn=fn)


def _observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return read_mask(fn(*given.values()), *given["ids"].shape)


def trial(title: str, ids: list[list[int]], pad_id: int = 0) -> Trial:
    return Trial(title, {"ids": torch.tensor(ids), "pad_id": pad_id}, _observe)


PADDED = [
    trial("one sentence, its last token is padding", [[5, 8, 0]]),
    trial("two sentences of different length", [[5, 8, 9], [7, 0, 0]]),
    trial("three sentences of three tokens", [[5, 8, 9], [7, 0, 0], [6, 5, 0]]),
    trial("a padding id other than 0", [[5, 1, 0, 3]], pad_id=3),
]
COMPONENT = Component("padding mask", chapter=6, reference=padding_mask, trials=PADDED)
mistake = COMPONENT.mistake

mistake(
    "the mask is inverted: True marks the padding",
    symptom="the model attends to padding and to nothing else",
    why="here True means *may attend*; key_padding_mask in torch.nn means the opposite.",
    hint="Read your first row aloud: may anyone look at the first token?",
)(lambda ids, pad_id: ~padding_mask(ids, pad_id))
mistake(
    "padding is blocked as a query (rows), not as a key (columns)",
    symptom="real tokens still look at padding, and padding tokens get NaN or zeros",
    why="the token dimension stands in the place of q_len; the keys are the last dimension.",
    hint="In (batch, heads, q_len, k_len), which dimension should your tokens lie along, and which have size 1?",
)(lambda ids, pad_id: (ids != pad_id)[:, None, :, None])
mistake(
    "padding is blocked both as a key and as a query",
    symptom="rows of padding tokens have nothing to look at, which gives NaN where attention does not expect it",
    why="only looking *at* padding must be prevented; what a padding token itself looks at is ignored later.",
    hint="Which rows of your mask are empty? They need not be.",
)(lambda ids, pad_id: padding_mask(ids, pad_id) & padding_mask(ids, pad_id).mT)
mistake(
    "the shape is (batch, seq): the batch lands in the place of the queries",
    symptom="a shape error; when the batch has as many sentences as tokens, silent nonsense",
    why="broadcasting lines shapes up from the right, so (batch, seq) is read as (q_len, k_len).",
    hint="Where do the dimensions of heads and queries have to go? Indexing with None adds one of size 1.",
)(lambda ids, pad_id: ids != pad_id)
mistake(
    "the shape is (batch, 1, seq): the batch lands in the place of the heads",
    symptom="a shape error; with as many heads as sentences, each head hides another sentence's padding",
    why="broadcasting lines shapes up from the right, so (batch, 1, seq) is read as (heads, 1, k_len).",
    hint="The result should have four dimensions. Which one is missing?",
)(lambda ids, pad_id: (ids != pad_id)[:, None, :])
mistake(
    "the padding id is taken to be 0",
    symptom="works until a tokenizer with another padding id comes along; then real tokens vanish",
    why="the mask is made from `ids != 0` (or from the truth of the ids), and pad_id is not used.",
    hint="Which argument does your function never use?",
)(lambda ids, pad_id: padding_mask(ids, 0))
mistake(
    "ids are compared with `>` rather than `!=`",
    symptom="works while the padding id is 0; with another one, every id below it vanishes",
    why="ids are names, not sizes.",
    hint="When is a token padding? Write exactly this condition.",
)(lambda ids, pad_id: (ids > pad_id)[:, None, None, :])
mistake(
    "the entries are numbers, 1 and 0, not booleans",
    symptom="`~mask` fails, and `&` with a boolean mask gives integers",
    why="a conversion such as .float() or .long() follows the comparison.",
    hint="The comparison alone already has the dtype that the contract wants.",
)(lambda ids, pad_id: padding_mask(ids, pad_id).float())
