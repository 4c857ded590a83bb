"""Checks the mask of rows in which several texts lie end to end."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.components.causal_mask import read_mask
from transformer_edu.book.exercises.checks.engine import Component, Trial
from transformer_edu.masks import causal_mask

BEGIN = 1


def check_document_mask(fn: Callable[..., Tensor]) -> None:
    """Check fn(ids, begin_id) -> boolean mask, causal, that broadcasts to (batch, heads, seq, seq).

    Each text begins with begin_id and ends where the next begins; a row may begin in the middle of a text.
    """
    COMPONENT.check(fn=fn)


def document_mask(
    ids: Tensor,
    begin_id: int,
    *,
    number: Callable[[Tensor], Tensor] = lambda begins: begins.cumsum(1),
    same: Callable[[Tensor, Tensor], Tensor] = torch.eq,
    join: Callable[[Tensor, Tensor], Tensor] = torch.logical_and,
) -> Tensor:
    """(batch, seq) -> (batch, 1, seq, seq); the keywords exchange one step, for the mistakes below."""
    text = number(ids == begin_id)  # which text of its row a token belongs to
    return join(same(text[:, :, None], text[:, None, :]), causal_mask(ids.shape[1]))[:, None]


def _observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return read_mask(fn(*given.values()), *given["ids"].shape)


def _trial(title: str, rows: list[list[int]], begin_id: int = BEGIN) -> Trial:
    return Trial(title, {"ids": torch.tensor(rows), "begin_id": begin_id}, _observe)


COMPONENT = Component(
    "document mask",
    chapter=12,
    reference=document_mask,
    trials=[
        _trial("two texts of two tokens", [[1, 7, 1, 8]]),
        _trial("three texts, the last of one token", [[1, 5, 1, 6, 7, 1]]),
        _trial("the end of a text, then two more", [[5, 6, 1, 7, 1, 8]]),
        _trial("two rows that are cut at other places", [[1, 5, 6, 1, 7], [9, 1, 4, 4, 4]]),
        _trial("the same word in two texts", [[1, 5, 5, 1, 5]]),
        _trial("another begin token", [[9, 1, 1, 9, 1]], begin_id=9),
        _trial("one text", [[1, 7, 8]]),
    ],
)
mistake = COMPONENT.mistake


def _ends_with_begin(begins: Tensor) -> Tensor:
    return begins.cumsum(1) - begins.long()


def _by_begin_alone(begins: Tensor) -> Tensor:
    return begins.long()


def _one_for_all_rows(begins: Tensor) -> Tensor:
    return begins.any(0).cumsum(0).expand(begins.shape)


def _first_text_hidden(ids: Tensor, begin_id: int) -> Tensor:
    begun = (ids == begin_id).cumsum(1) > 0
    return document_mask(ids, begin_id) & begun[:, None, None, :]


def _equal_tokens(ids: Tensor, begin_id: int) -> Tensor:
    return (causal_mask(ids.shape[1]) & (ids[:, :, None] == ids[:, None, :]))[:, None]


mistake(
    "the texts see each other: the mask is only causal",
    symptom="a text goes on from the one before it; the same text gets another loss in another row",
    why="the causal mask hides what comes later, and the text before is earlier. A number that may be smaller (>= in "
    "place of ==) says no more than that.",
    hint="May the first token of the second text look at the last of the first?",
)(partial(document_mask, same=lambda q, k: torch.ones_like(q == k)))
mistake(
    "the mask is not causal: each text sees its own future",
    symptom="the loss falls to almost nothing in training; generated text is nonsense",
    why="equal texts say who belongs together, not who came first. Both conditions have to hold at once.",
    hint="A key may be seen if it is of the same text AND not in the future.",
)(partial(document_mask, join=lambda same, causal: same))
mistake(
    "the two conditions are joined with OR instead of AND",
    symptom="each text sees its own future, and all texts before it",
    why="True means *may attend*; with OR one permission is enough.",
    hint="May a token look at an earlier text? What does your mask say?",
)(partial(document_mask, join=torch.logical_or))
mistake(
    "the begin token belongs to the text before it",
    symptom="each text begins without its begin token, and the begin token knows the text before",
    why="counting the begin tokens *before* a place gives the begin token the number of the text that it ends.",
    hint="Print the number of its text below each token. Where should it go up by one?",
)(partial(document_mask, number=_ends_with_begin))
mistake(
    "begin tokens see begin tokens, and all others see each other",
    symptom="texts see each other's words, but not their own begin token",
    why="it was compared whether two tokens are begin tokens, not which text they belong to.",
    hint="A running sum makes numbers of texts from the places where one begins.",
)(partial(document_mask, number=_by_begin_alone))
mistake(
    "a token also sees the text before its own",
    symptom="each text goes on from its neighbour, though not from the one before that",
    why="the numbers of the texts may differ by one in this mask; they have to be equal.",
    hint="Which texts may a token of text 2 see?",
)(partial(document_mask, same=lambda q, k: q - k <= 1))
mistake(
    "what stands before the first begin token is hidden",
    symptom="rows that begin in the middle of a text have queries with nothing to look at, which gives NaN or zeros",
    why="texts are numbered from 1, so the piece of a text that a row begins with has number 0: it is a text as well.",
    hint="A row was cut where it was full. What are its first tokens, if none of them is a begin token?",
)(_first_text_hidden)
mistake(
    "every row is cut where any row is",
    symptom="right for one row; in a batch, texts are cut where a neighbour's begins",
    why="the places of the begin tokens were put together over the batch.",
    hint="Along which dimension does the running sum go, and does anything join the rows?",
)(partial(document_mask, number=_one_for_all_rows))
mistake(
    "a token sees only tokens that are equal to it",
    symptom="every word sees its own repetitions, and nothing else",
    why="the ids were compared with each other, in place of the numbers of their texts.",
    hint="What do two tokens of the same text have in common? Not their id.",
)(_equal_tokens)
mistake(
    "the mask is inverted: True marks what is blocked",
    symptom="every token sees other texts and the future, and the last of a single text sees nothing",
    why="here True means *may attend*; torch.nn.MultiheadAttention's masks mean the opposite.",
    hint="Read your first row aloud: may the first token look at itself?",
)(lambda ids, begin_id: ~document_mask(ids, begin_id))
mistake(
    "the diagonal is left out: a token cannot see itself",
    symptom="each begin token has nothing to look at, which gives NaN or zeros",
    why="position q may attend to 0 .. q, and q is included.",
    hint="How many ones should the first row have?",
)(partial(document_mask, join=lambda same, causal: same & causal.tril(-1)))
mistake(
    "the shape is (batch, seq, seq): the batch lands in the place of the heads",
    symptom="a shape error; with as many heads as rows, each head gets another row's mask",
    why="broadcasting lines shapes up from the right, so (batch, seq, seq) is read as (heads, q_len, k_len).",
    hint="The result should have four dimensions. Which one is missing?",
)(lambda ids, begin_id: document_mask(ids, begin_id)[:, 0])
mistake(
    "the entries are numbers, 1 and 0, not booleans",
    symptom="`~mask` fails, or an attention that adds masks adds 1 and 0",
    why="a product of two conditions, or tril of ones, is a number.",
    hint="The pattern is right. Which operator joins two booleans and gives a boolean?",
)(lambda ids, begin_id: document_mask(ids, begin_id).float())
