"""Checks a batch of prompts of different length, padded on the left, so that all of them end in one column."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor

Prompts = list[list[int]]
Batch = tuple[Tensor, Tensor, Tensor]


def check_left_padding(fn: Callable[[Prompts, int], Batch]) -> None:
    """Check fn(prompts, pad_id) -> (ids, positions, real), all (batch, longest): integers, integers, booleans.

    Padding stands on the left. Positions count the real tokens from 0; at padding any row of the table will do, 0 to
    longest − 1. `real` is True where a token is real. No prompt is empty, and none contains pad_id.
    """
    COMPONENT.check(fn=fn)


def left_padding(
    prompts: Prompts,
    pad_id: int,
    *,
    row: Callable[[list[int], list[int]], list[int]] = lambda prompt, padding: padding + prompt,
    places: Callable[[Tensor], Tensor] = lambda real: (real.long().cumsum(1) - 1).clamp(min=0),
    say: Callable[[Tensor], Tensor] = lambda real: real,
    width: Callable[[list[int]], int] = max,
) -> Batch:
    """Padding before each prompt, and its positions counted; the keywords exchange one step, for the mistakes below."""
    longest = width([len(prompt) for prompt in prompts])
    cut = [prompt[-longest:] for prompt in prompts]
    ids = torch.tensor([row(prompt, [pad_id] * (longest - len(prompt))) for prompt in cut])
    real = ids != pad_id
    return ids, places(real), say(real)


def _batch(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What came back; the positions of padding do not matter, as long as a table has them."""
    result = fn(*given.values())
    if not isinstance(result, tuple | list) or len(result) != 3:
        raise Unfit(f"returned {'None' if result is None else type(result).__name__}, expected (ids, positions, real)")
    ids, positions, real = (as_tensor(part) for part in result)
    if not ids.shape == positions.shape == real.shape:
        shapes = ", ".join(str(tuple(part.shape)) for part in (ids, positions, real))
        raise Unfit(f"returned the shapes {shapes}, expected three times (batch, longest)")
    tokens = ids != given["pad_id"]
    inside = (positions >= 0) & (positions < max(map(len, given["prompts"])))
    return {
        "ids": ids,
        "positions (0 at padding)": positions.masked_fill(~tokens, 0),
        "real": real.long(),
        "positions at padding are rows of the table": bool(inside[~tokens].all()),
        "ids and positions are integers, as a table needs them": not (ids + positions).is_floating_point(),
        "real is boolean, as a mask has to be": real.dtype == torch.bool,
    }


def _trial(title: str, prompts: Prompts, pad_id: int = 0) -> Trial:
    return Trial(title, {"prompts": prompts, "pad_id": pad_id}, _batch)


COMPONENT = Component(
    "left padding",
    chapter=18,
    reference=left_padding,
    trials=[
        _trial("two prompts, of one token and of two", [[5], [6, 7]]),
        _trial("three prompts, the longest first", [[4, 8, 6, 9], [7, 5], [3, 9, 2]]),
        _trial("two prompts of the same length", [[5, 6, 7], [8, 9, 4]]),
        _trial("another padding id", [[5, 0], [0, 8, 1]], pad_id=3),
    ],
)
mistake = COMPONENT.mistake


def _columns(real: Tensor) -> Tensor:
    return torch.arange(real.shape[1]).expand(real.shape)


def _with_floats(prompts: Prompts, pad_id: int) -> Batch:
    ids, positions, real = left_padding(prompts, pad_id)
    return ids.float(), positions, real


def _by_length(prompts: Prompts, pad_id: int) -> Batch:
    return left_padding(sorted(prompts, key=len, reverse=True), pad_id)


def _zeros(prompts: Prompts, pad_id: int) -> Batch:
    ids, positions, real = left_padding(prompts, pad_id)
    return ids.masked_fill(~real, 0), positions, real


mistake(
    "the padding stands on the right",
    symptom="a short prompt goes on after its padding: the next token is read from the wrong column",
    why="torch's pad_sequence and most loops fill up behind; that is right for training, where each column is scored.",
    hint="From which column are the logits of the next token taken? What should stand there in every row?",
)(partial(left_padding, row=lambda prompt, padding: prompt + padding))
mistake(
    "the positions are those of the columns",
    symptom="the same prompt goes on in another way beside a longer one",
    why="arange(longest) counts the padding as well, so that a short prompt begins somewhere in the table's middle.",
    hint="Which position has the first token of a prompt when it stands alone?",
)(partial(left_padding, places=_columns))
mistake(
    "the positions count from 1",
    symptom="texts that are a little worse, and an index out of range for the longest text",
    why="the running sum of `real` is 1 at the first token; a table's first row is row 0.",
    hint="Which row of the table did the first token have in training?",
)(partial(left_padding, places=lambda real: real.long().cumsum(1)))
mistake(
    "the positions count from the end",
    symptom="nonsense: every token stands where another one should",
    why="the last token has position 0, as if the text were read backwards.",
    hint="What should the positions of a prompt of three tokens be when it stands alone?",
)(partial(left_padding, places=lambda real: _columns(real).flip(1)))
mistake(
    "the positions of padding are negative",
    symptom="an index out of range from nn.Embedding, or the table's last row without a word",
    why="the running sum minus 1 is −1 before the first token.",
    hint="Print the positions of the shortest prompt. Which rows does the table have?",
)(partial(left_padding, places=lambda real: real.long().cumsum(1) - 1))
mistake(
    "`real` is the wrong way round: True at padding",
    symptom="every token looks at padding and at nothing else",
    why="True means *may attend* here; key_padding_mask of torch.nn.MultiheadAttention means the opposite.",
    hint="Should a token look at what is True, or away from it?",
)(partial(left_padding, say=torch.logical_not))
mistake(
    "`real` holds 0 and 1, not False and True",
    symptom="`~real` gives −1 and −2, which both count as True: the mask hides nothing",
    why="an integer mask is another convention; `~` and `&` work bit by bit on integers.",
    hint="What is ~torch.tensor([0, 1])? Which dtype has a comparison such as ids != pad_id?",
)(partial(left_padding, say=torch.Tensor.long))
mistake(
    "the ids are floating-point numbers",
    symptom="nn.Embedding refuses them: it expects integers",
    why="torch.zeros and torch.ones make float32 unless they are told a dtype.",
    hint="Print ids.dtype. Which dtype can index a table?",
)(_with_floats)
mistake(
    "the prompts come back reversed",
    symptom="nonsense, though shapes and padding look right",
    why="padding on the right and turning the rows round moves the padding, and the tokens with it.",
    hint="Print the first row beside its prompt. Which step turned it round, and which one should turn it back?",
)(partial(left_padding, row=lambda prompt, padding: padding + prompt[::-1]))
mistake(
    "the prompts are cut to the shortest one",
    symptom="long prompts lose their beginning, or their end",
    why="the width of the batch is that of the shortest prompt, as zip has it.",
    hint="How many columns does the batch need for its longest prompt?",
)(partial(left_padding, width=min))
mistake(
    "the batch is sorted by length",
    symptom="each answer belongs to another prompt",
    why="sorting makes padding easy, and nothing puts the rows back.",
    hint="Which row should the second prompt have?",
)(_by_length)
mistake(
    "the padding is id 0, whatever pad_id says",
    symptom="right until a tokenizer has another padding id; then `ids != pad_id` finds no padding",
    why="torch.zeros, or pad_sequence without `padding_value`, fills up with 0.",
    hint="Which argument of your function do the ids not depend on?",
)(_zeros)
