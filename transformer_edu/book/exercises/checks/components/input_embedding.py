"""Checks an embedding module as the judge does, and what numbers do not show: how its table is drawn."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from transformer_edu.book.exercises.checks.engine import Mistake, as_tensor
from transformer_edu.book.exercises.checks.part import check_part

CHAPTER = 3
VOCAB, D_MODEL = 2000, 64  # of a table that is large enough to see how it was drawn
CLOSE = 0.05  # how far its standard deviation may be off, as a share


def check_input_embedding(cls: Callable[..., nn.Module], drawn: bool = True) -> None:
    """Check cls(vocab_size, d_model), a module whose forward(ids) turns (batch, seq) into (batch, seq, d_model).

    It looks up one row for each id in a trainable table, drawn with standard deviation 1/√d_model or by Xavier's rule
    (as build_transformer draws it), and multiplies it by √d_model (paper, section 3.4). `drawn=False` leaves out how
    the table starts: for a part such as te.InputEmbedding, whose table the whole model draws.
    """
    check_part(cls, "input_embedding", also=_starts_otherwise if drawn else lambda cls: None)


def _starts_otherwise(cls: Any) -> tuple[str, Mistake] | None:
    """What is wrong with the table as it is made, whatever is computed with it."""
    from transformer_edu.book.exercises.judge.making import make

    module = make(cls, {"vocab_size": VOCAB, "d_model": D_MODEL})[0]
    std = float(as_tensor(module(torch.arange(VOCAB)[None])).std()) / math.sqrt(D_MODEL)
    wanted = 1 / math.sqrt(D_MODEL), math.sqrt(2 / (VOCAB + D_MODEL))  # the paper's, and Xavier's
    if any(math.isclose(std, scale, rel_tol=CLOSE) for scale in wanted):
        return None
    known = (mistake for value, mistake in STARTS.items() if math.isclose(std, value, rel_tol=CLOSE))
    return f"a table of {VOCAB} words has the standard deviation {std:.3g}", next(known, OTHERWISE)


OTHERWISE = Mistake(
    "the table is drawn at another scale than 1/√d_model",
    symptom="words start larger or smaller than their positions",
    why="drawn with standard deviation 1/√d_model and multiplied by √d_model, words have about the size of positions.",
    hint="Print the standard deviation of your table, and compare it with 1/√d_model.",
)
STARTS = {  # how a table may start otherwise, by its standard deviation
    1.0: Mistake(
        "the table is drawn from N(0, 1), nn.Embedding's default",
        symptom="words start √d_model times larger than their positions, which drown beside them",
        why="the factor √d_model makes the outputs' standard deviation √d_model instead of 1.",
        hint="Which function of torch.nn.init draws with a standard deviation that you choose?",
    ),
    1 / D_MODEL: Mistake(
        "the table is drawn with standard deviation 1/d_model, not 1/√d_model",
        symptom="words start √d_model times smaller than they should, and drown beside their positions",
        why="1/d_model is the variance; a standard deviation is its root.",
        hint="Which of the two does your call want, the variance or the standard deviation?",
    ),
    1 / math.sqrt(3 * D_MODEL): Mistake(
        "the table is drawn uniformly between −1/√d_model and 1/√d_model",
        symptom="words start 1.7 times smaller than they should",
        why="1/√d_model is then the largest entry; the standard deviation is smaller by √3.",
        hint="What is the standard deviation of numbers drawn evenly between −a and a?",
    ),
}
