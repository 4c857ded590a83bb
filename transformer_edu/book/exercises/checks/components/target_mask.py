"""Checks the mask that is causal and hides padding at once."""

from collections.abc import Callable

from torch import Tensor

from transformer_edu.book.exercises.checks.components.padding_mask import PADDED, trial
from transformer_edu.book.exercises.checks.engine import Component
from transformer_edu.masks import causal_mask, padding_mask


def check_target_mask(fn: Callable[..., Tensor]) -> None:
    """Check fn(ids, pad_id) -> boolean mask, causal and padding together, broadcasting as the other two."""
    COMPONENT.check(fn=fn)


def both_masks(ids: Tensor, pad_id: int) -> Tensor:
    """Causal and padding together, (batch, 1, seq, seq)."""
    return causal_mask(ids.shape[1]) & padding_mask(ids, pad_id)


BETWEEN = trial("padding between two words", [[5, 0, 8]])  # the causal mask does not hide it from the later one
COMPONENT = Component("target mask", chapter=11, reference=both_masks, trials=[*PADDED, BETWEEN])
mistake = COMPONENT.mistake

mistake(
    "only the padding is blocked: the causal mask is missing or overwritten",
    symptom="a training loss that falls far too low; generated text is nonsense",
    why="a second assignment to the mask replaces the first; both conditions have to hold at once.",
    hint="A key may be seen if it is not in the future AND is not padding.",
)(lambda ids, pad_id: padding_mask(ids, pad_id))
mistake(
    "only the future is blocked: the padding mask is missing or overwritten",
    symptom="results that change with the amount of padding when it stands before or between real tokens",
    why="a second assignment to the mask replaces the first; both conditions have to hold at once.",
    hint="A key may be seen if it is not in the future AND is not padding.",
)(lambda ids, pad_id: causal_mask(ids.shape[1]))
mistake(
    "the two masks are joined with OR instead of AND",
    symptom="nearly everything is allowed: the future, because it is not padding; padding, because it is past",
    why="True means *may attend*; with OR one permission is enough. (With True = blocked, OR would be right.)",
    hint="May a token look at a real word of the future? What does your mask say?",
)(lambda ids, pad_id: causal_mask(ids.shape[1]) | padding_mask(ids, pad_id))
mistake(
    "the mask is inverted: True marks what is blocked",
    symptom="tokens see only the future and the padding",
    why="here True means *may attend*.",
    hint="Read your first row aloud: may the first token look at itself?",
)(lambda ids, pad_id: ~both_masks(ids, pad_id))
mistake(
    "padding is blocked as a query (rows), not as a key (columns)",
    symptom="the padding's own rows are empty, which gives NaN or zeros, and padding can still be looked at",
    why="the token dimension of the padding mask stands in the place of q_len; the keys are the last dimension.",
    hint="Which dimension of (batch, heads, q_len, k_len) should the padding lie along?",
)(lambda ids, pad_id: causal_mask(ids.shape[1]) & (ids != pad_id)[:, None, :, None])
mistake(
    "padding is blocked as a query too, not as a key alone",
    symptom="the padding's own rows are empty, which gives NaN where attention does not expect it",
    why="only looking *at* padding must be prevented; what a padding token itself looks at is ignored later.",
    hint="Which rows of your mask are empty? They need not be.",
)(lambda ids, pad_id: both_masks(ids, pad_id) & padding_mask(ids, pad_id).mT)
mistake(
    "the diagonal is left out: a token cannot see itself",
    symptom="the first token has nothing to look at, which gives NaN or zeros",
    why="position q may attend to 0 .. q, and q is included.",
    hint="How many ones should the first row have?",
)(lambda ids, pad_id: causal_mask(ids.shape[1]).tril(-1) & padding_mask(ids, pad_id))
mistake(
    "it is the upper triangle: each token sees itself and the future",
    symptom="the loss falls to almost nothing in training; generated text is nonsense",
    why="row q is the query, column k the key; the past of q lies to the left of the diagonal.",
    hint="Which triangle holds the columns to the left of the diagonal?",
)(lambda ids, pad_id: causal_mask(ids.shape[1]).T & padding_mask(ids, pad_id))
mistake(
    "the padding mask has the shape (batch, seq): the batch lands in the place of the queries",
    symptom="right for one sentence, a shape error for two, silent nonsense for as many sentences as tokens",
    why="broadcasting lines shapes up from the right, so (batch, seq) meets (q_len, k_len).",
    hint="Give the padding mask its dimensions for heads and queries before you join the two.",
)(lambda ids, pad_id: causal_mask(ids.shape[1]) & (ids != pad_id))
mistake(
    "the shape is (batch, seq, seq): the batch lands in the place of the heads",
    symptom="a shape error; with as many heads as sentences, each head gets another sentence's mask",
    why="broadcasting lines shapes up from the right, so (batch, seq, seq) is read as (heads, q_len, k_len).",
    hint="The result should have four dimensions. Which one is missing?",
)(lambda ids, pad_id: both_masks(ids, pad_id)[:, 0])
mistake(
    "the entries are numbers, 1 and 0, not booleans",
    symptom="`~mask` fails, or an attention that adds masks adds 1 and 0",
    why="a product or a conversion has made numbers of two conditions.",
    hint="The pattern is right. Which operator joins two booleans and gives a boolean?",
)(lambda ids, pad_id: both_masks(ids, pad_id).float())
