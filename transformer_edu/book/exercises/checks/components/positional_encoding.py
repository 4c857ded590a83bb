"""Checks a module that adds the sinusoidal table, as the judge does; and its offset, which he does not ask for."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from transformer_edu.book.exercises.checks.engine import Mistake, as_tensor
from transformer_edu.book.exercises.checks.engine.compare import same_numbers
from transformer_edu.book.exercises.checks.part import check_part
from transformer_edu.positional import sinusoidal_table

CHAPTER = 4


def check_positional_encoding(cls: Callable[..., nn.Module], with_offset: bool = True) -> None:
    """Check cls(d_model, max_len=..., dropout=...), whose forward(x, offset=0) adds the table's rows and drops out.

    x is (batch, seq, d_model). `with_offset=False` leaves out the offset.
    """
    check_part(cls, "positional_encoding", also=_placed_otherwise if with_offset else lambda cls: None)


def _placed_otherwise(cls: Any) -> tuple[str, Mistake] | None:
    """What is wrong with two tokens that stand at positions 3 and 4."""
    from transformer_edu.book.exercises.judge.making import make

    x, table, where = torch.zeros(1, 2, 4), sinusoidal_table(10, 4), "two tokens at positions 3 and 4"
    module = make(cls, {"d_model": 4, "max_len": 10, "dropout": 0.0})[0]
    try:
        rows = as_tensor(module(x, 3))[0]
    except TypeError as error:
        return f"{where}: {error}", UNTAKEN
    if same_numbers(rows, table[3:5], 1e-4):
        return None
    return where, IGNORED if same_numbers(rows, table[:2], 1e-4) else OTHERWISE


UNTAKEN = Mistake(
    "forward takes no `offset`",
    symptom="a decoder that writes token by token cannot say where the next one stands",
    why="forward(x, offset=0) is asked for: the rows from `offset` on are added.",
    hint="`with_offset=False` leaves this out. What would the token at position 3 get, when it comes alone?",
)
IGNORED = Mistake(
    "`offset` is ignored",
    symptom="decoding step by step gives every new token position 0, so cached and full results differ",
    why="the slice always begins at the table's first row.",
    hint="At which row should the slice begin, and at which should it end?",
)
OTHERWISE = Mistake(
    "`offset` leads to other rows than those from it on",
    symptom="decoding step by step gives new tokens other positions than the full pass",
    why="two tokens behind three others get the rows 3 and 4, counted from 0.",
    hint="At which row should the slice begin, and at which should it end?",
)
