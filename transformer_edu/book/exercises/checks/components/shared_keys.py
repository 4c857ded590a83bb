"""Checks which heads of queries share a head of keys or values."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor, gradient_of


def check_shared_keys(fn: Callable[[Tensor, int], Tensor]) -> None:
    """Check fn(x, num_heads) with x (batch, kv_heads, seq, d_head) -> (batch, num_heads, seq, d_head).

    Each head of x stands for num_heads / kv_heads heads of queries that follow each other. Views are right, too.
    """
    COMPONENT.check(fn=fn)


def shared_keys(
    x: Tensor,
    num_heads: int,
    *,
    repeat: Callable[[Tensor, int], Tensor] = lambda x, group: x.repeat_interleave(group, dim=1),
) -> Tensor:
    """Each head beside its own copies; `repeat` exchanges the step, for the mistakes below."""
    return repeat(x, num_heads // x.shape[1])


def _heads(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    result = as_tensor(fn(*given.values()))
    return {"shape": str(tuple(result.shape)), "heads, one a row": result.flatten(0, 1).flatten(1)}


def _trial(title: str, batch: int, kv_heads: int, seq: int, num_heads: int) -> Trial:
    x = torch.arange(batch * kv_heads * seq * 2.0).view(batch, kv_heads, seq, 2) / 2
    return Trial(title, {"x": x, "num_heads": num_heads}, _heads)


COMPONENT = Component(
    "shared keys",
    chapter=19,
    reference=shared_keys,
    trials=[
        _trial("two heads of keys for four of queries", 1, 2, 1, 4),
        _trial("two heads of keys for six of queries, two sentences", 2, 2, 1, 6),
        _trial("three tokens", 1, 2, 3, 4),
        _trial("one head of keys for all", 1, 1, 2, 3),
        _trial("as many heads as queries have", 1, 3, 2, 3),
    ],
    gradient=gradient_of("x"),
)
mistake = COMPONENT.mistake


mistake(
    "the heads take turns: 0, 1, 0, 1",
    symptom="loaded weights give nonsense, though every shape is right; trained from scratch it works",
    why="`repeat` and `tile` put copies of the whole behind each other; published models give neighbours one head.",
    hint="Which head of keys should the second head of queries see? What is the difference to repeat_interleave?",
)(partial(shared_keys, repeat=lambda x, group: x.repeat(1, group, 1, 1)))
mistake(
    "the sentences are repeated, not the heads",
    symptom="the batch has grown, and the heads have not",
    why="dimension 0 counts sentences, dimension 1 heads.",
    hint="Print the shape that comes back. Which of its numbers should be num_heads?",
)(partial(shared_keys, repeat=lambda x, group: x.repeat_interleave(group, dim=0)))
mistake(
    "the tokens are repeated, not the heads",
    symptom="more keys than the text has tokens",
    why="dimension 2 counts tokens, dimension 1 heads.",
    hint="Print the shape that comes back. Which of its numbers should be num_heads?",
)(partial(shared_keys, repeat=lambda x, group: x.repeat_interleave(group, dim=2)))
mistake(
    "every head is repeated num_heads times",
    symptom="a shape that does not fit the queries' heads",
    why="the size of a group is num_heads / kv_heads.",
    hint="How many heads of queries share one of two heads of keys, if there are four?",
)(lambda x, num_heads: x.repeat_interleave(num_heads, dim=1))
mistake(
    "all heads see the first head of keys",
    symptom="the other heads of keys and values learn nothing: no gradient reaches them",
    why="`x[:, :1].expand(...)` is multi-query attention, where there is one head; here there are several.",
    hint="Does your result depend on the second head of x?",
)(lambda x, num_heads: x[:, :1].expand(-1, num_heads, -1, -1))
mistake(
    "the heads are cut in pieces: the copies are made by a reshape",
    symptom="each head holds features or tokens of two heads",
    why="`view` and `reshape` only read the numbers in their order; the copies have to be made before.",
    hint="Look at one row of what comes back: which heads do its numbers come from?",
)(
    lambda x, num_heads: x.repeat(1, 1, 1, num_heads // x.shape[1]).reshape(
        x.shape[0], num_heads, x.shape[2], x.shape[3]
    )
)
