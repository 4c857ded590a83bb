"""Checks the causal mask of a past that ends after so many tokens."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.components.causal_mask import read_mask
from transformer_edu.book.exercises.checks.engine import Component, Trial
from transformer_edu.masks import causal_mask
from transformer_edu.parts import window_mask


def check_window_mask(fn: Callable[[int, int], Tensor]) -> None:
    """Check fn(size, window) -> boolean mask that broadcasts to (batch, heads, size, size), True = may attend.

    A token sees itself and the window − 1 tokens before it.
    """
    COMPONENT.check(fn=fn)


def _observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return read_mask(fn(*given.values()), 1, given["size"])


COMPONENT = Component(
    "window mask",
    chapter=19,
    reference=window_mask,
    trials=[
        Trial("four tokens, a window of two", {"size": 4, "window": 2}, _observe),
        Trial("five tokens, a window of three", {"size": 5, "window": 3}, _observe),
        Trial("a window of one: each token alone", {"size": 3, "window": 1}, _observe),
        Trial("a window longer than the text", {"size": 3, "window": 8}, _observe),
        Trial("a window as long as the text", {"size": 3, "window": 3}, _observe),
    ],
)
mistake = COMPONENT.mistake


def _far(size: int, window: int) -> Tensor:
    """How far back a key stands, at least the window."""
    place = torch.arange(size)
    return place[:, None] - place >= window


mistake(
    "the window is one too long: it does not count the token itself",
    symptom="a cache of `window` tokens is one too short",
    why="a window of w holds w tokens, the one that looks among them; j > i − w, not j ≥ i − w.",
    hint="With a window of 1, what should a token see?",
)(lambda size, window: window_mask(size, window + 1))
mistake(
    "the window is one too short",
    symptom="with a window of 1 a token sees nothing, not even itself",
    why="the token that looks is the first of the window; j > i − w is right for it, j > i − w + 1 is not.",
    hint="With a window of 2, how many tokens should the last token see?",
)(lambda size, window: causal_mask(size) & ~_far(size, window - 1))
mistake(
    "the future is seen: the window reaches to both sides",
    symptom="a training loss near zero and texts that make no sense",
    why="|i − j| < w is the window of a model that reads; one that writes needs the causal mask as well.",
    hint="May the first token see the second one?",
)(lambda size, window: ~(_far(size, window) | _far(size, window).T))
mistake(
    "there is no window",
    symptom="right on short texts; on long ones the cache grows without end",
    why="the causal mask alone lets a token see everything before it.",
    hint="Which argument does your mask not depend on?",
)(lambda size, window: causal_mask(size))
mistake(
    "the text is cut into blocks",
    symptom="the first token of each block has no past",
    why="i // w == j // w puts tokens into blocks; a window slides: each token has its own.",
    hint="Which tokens should the third token see with a window of 2? And the second?",
)(lambda size, window: causal_mask(size) & (torch.arange(size)[:, None] // window == torch.arange(size) // window))
mistake(
    "the near past is hidden and the far past seen",
    symptom="each token lacks what stands right before it",
    why="the triangle of what is far was used as it is, without turning it round.",
    hint="May a token see itself in your mask?",
)(lambda size, window: causal_mask(size) & _far(size, window))
mistake(
    "the mask is inverted: True marks what is blocked",
    symptom="every token sees only what it should not",
    why="here True means *may attend*; torch.nn.MultiheadAttention's masks mean the opposite.",
    hint="Read your first row aloud: may the first token look at itself?",
)(lambda size, window: ~window_mask(size, window))
mistake(
    "rows and columns are exchanged",
    symptom="every token sees itself and the tokens behind it",
    why="row i is the token that looks, column j what it looks at.",
    hint="What does the first row say that the first token may see?",
)(lambda size, window: window_mask(size, window).T)
