"""Checks attention followed through the layers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, output


def check_attention_rollout(fn: Callable[[Tensor], Tensor]) -> None:
    """Check fn(maps) with maps (layers, heads, seq, seq), the first layer first, -> (seq, seq), rows that sum to 1.

    Of each layer the mean of its heads, half of it with half of the identity for the residual connection; then the
    product, so that row i says how much of each input token has come to place i.
    """
    COMPONENT.check(fn=fn)


def rollout(
    maps: Tensor,
    kept: float = 0.5,
    backwards: bool = False,
    join: Callable[[Tensor], Tensor] = lambda heads: heads.mean(0),
) -> Tensor:
    """∏ (A + I) / 2, the last layer on the left; the keywords exchange one step, for the mistakes below."""
    whole = torch.eye(maps[0].shape[-1])
    for heads in maps:
        step = (1 - kept) * join(heads) + kept * torch.eye(heads.shape[-1])
        whole = whole @ step if backwards else step @ whole
    return whole


def _trial(title: str, *maps: list[Any]) -> Trial:
    return Trial(title, {"maps": torch.tensor(maps)}, output)


FIRST, SECOND = [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]
COMPONENT = Component(
    "attention rollout",
    chapter=16,
    reference=rollout,
    trials=[
        _trial("one layer of one head", [FIRST]),
        _trial("one layer of two heads", [FIRST, SECOND]),
        _trial("two layers of one head", [FIRST], [SECOND]),
        _trial("two layers of two heads", [FIRST, [[0.8, 0.2], [0.4, 0.6]]], [SECOND, FIRST]),
        _trial("three layers of three tokens", *[[[[0.0, 1, 0], [0, 0, 1], [0.5, 0, 0.5]]]] * 3),
    ],
)
mistake = COMPONENT.mistake

mistake(
    "the residual connection is left out",
    symptom="after a few layers all rows look alike, and a token seems to hold nothing of itself",
    why="each sub-layer adds to what is there: a token's own vector goes on beside what attention brings.",
    hint="What reaches place i without any attention?",
)(partial(rollout, kept=0.0))
mistake(
    "the identity is added, and the rows are not made to sum to 1 again",
    symptom="rows sum to 2 after one layer, to 4 after two",
    why="A and I each have rows that sum to 1; their mean has such rows, their sum has not.",
    hint="What is the sum of a row of A + I?",
)(lambda maps: rollout(maps) * 2 ** len(maps))
mistake(
    "the layers are multiplied in the wrong order",
    symptom="right for one layer; with two, the first layer acts on what the second has made",
    why="row i of the last layer says what place i takes from the layer below it: that layer stands to its right.",
    hint="y = A₂ (A₁ x). Which matrix stands on the left of the product?",
)(partial(rollout, backwards=True))
mistake(
    "only the last layer's map is used",
    symptom="it answers where the last layer looks, not what has come there",
    why="what stands at a place of the last layer has been mixed by the layers below.",
    hint="Which of the maps does your answer not depend on?",
)(lambda maps: rollout(maps[-1:]))
mistake(
    "the layers are averaged, not multiplied",
    symptom="what comes over two steps is missed: i looks at j, j looked at k",
    why="the paths go through all the layers, one after another; that is a product.",
    hint="Token 3 looks at 2 in layer two, and 2 looked at 1 in layer one. Does 1 reach 3 in yours?",
)(lambda maps: torch.stack([rollout(layer[None]) for layer in maps]).mean(0))
mistake(
    "the heads are added up, not averaged",
    symptom="rows that sum to more than 1 as soon as there are two heads",
    why="each head's rows sum to 1; so does their mean.",
    hint="What is the sum of a row with two heads?",
)(partial(rollout, join=lambda heads: heads.sum(0)))
mistake(
    "the largest weight over the heads is taken",
    symptom="rows that sum to more than 1, a little, as soon as two heads differ",
    why="the maximum of two distributions is none; the mean is.",
    hint="Two heads look at two keys. What do the two maxima add up to?",
)(partial(rollout, join=lambda heads: heads.amax(0)))
mistake(
    "only the first head is followed",
    symptom="right with one head; with several, all but one are forgotten",
    why="a layer's map is the mean over its heads.",
    hint="Which of the heads does your answer not depend on?",
)(partial(rollout, join=lambda heads: heads[0]))
mistake(
    "the identity is added once, after the product",
    symptom="a token keeps half of itself, however many layers there are",
    why="there is a residual connection around each attention, so the identity belongs to each layer.",
    hint="How often does a token pass a residual connection?",
)(lambda maps: (rollout(maps, kept=0.0) + torch.eye(maps[0].shape[-1])) / 2)
mistake(
    "the result is transposed",
    symptom="columns sum to 1: it says where a token went, not what came to a place",
    why="row i belongs to place i of the last layer, column j to input token j.",
    hint="Which sums are 1, those of the rows or those of the columns?",
)(lambda maps: rollout(maps).T)
