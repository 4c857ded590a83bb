"""Known mistakes in attention's mask and in what the function returns."""

import torch
from torch import Tensor

from transformer_edu.checks.components.attention import ATTENTION
from transformer_edu.checks.components.attention_mistakes import Result, attend, scaled_scores

mistake = ATTENTION.mistake
NEVER = float("-inf")


@mistake(
    "the mask is not used",
    symptom="a training loss that falls far too low, because every position sees the answer",
    why="the function takes a mask and never looks at it.",
    hint="Between which two steps must a blocked score lose its influence?",
)
def mask_not_used(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(scaled_scores(query, key), value)


@mistake(
    "the mask is inverted: it blocks what is allowed",
    symptom="every token sees only the future, and the first row or the last sees nothing",
    why="here True means *may attend*; torch.nn.MultiheadAttention's masks mean the opposite.",
    hint="masked_fill fills where its mask is True. Is that where attention is allowed?",
)
def mask_inverted(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(scaled_scores(query, key), value, None if mask is None else ~mask)


@mistake(
    "the mask is applied after the softmax, and the rows no longer sum to one",
    symptom="early positions have small outputs; the size of blocked scores still leaks into the others",
    why="the softmax has already handed weight to the blocked keys; zeroing it there does not give it back.",
    hint="A blocked key must not take part in the competition. Before or after softmax?",
)
def mask_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    _, weights = attend(scaled_scores(query, key), value)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@mistake(
    "blocked scores are set to 0, not to minus infinity",
    symptom="blocked keys still get weight, often more than the allowed ones",
    why="exp(0) is 1: a score of 0 is an ordinary score. (A fill of -1e-9, for -1e9, does the same.)",
    hint="Which score makes exp(score) vanish?",
)
def filled_with_zero(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    scores = scaled_scores(query, key)
    return attend(scores if mask is None else scores.masked_fill(~mask, 0.0), value)


@mistake(
    "the boolean mask is added to the scores",
    symptom="allowed keys are favoured a little, blocked ones still get weight",
    why="True and False add 1 and 0. An additive mask needs 0 where allowed and minus infinity where blocked.",
    hint="What do you want to add at a blocked place? What does False add?",
)
def mask_added(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    scores = scaled_scores(query, key)
    return attend(scores if mask is None else scores + mask, value)


@mistake(
    "a query that may look at nothing becomes NaN",
    symptom="one empty or fully padded sentence turns the loss, then every weight of the model, into NaN",
    why="softmax of a row of minus infinities is 0 / 0.",
    hint="Everything else is right. What should such a row be, and when can you put it there?",
)
def nan_for_blocked_query(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    scores = scaled_scores(query, key)
    return attend(scores if mask is None else scores.masked_fill(~mask, NEVER), value)


@mistake(
    "a query that may look at nothing takes the mean of all values, the blocked ones too",
    symptom="padding rows carry real content; two code paths that should agree differ on them",
    why="a large negative number on a whole row is the same number everywhere, and softmax of equal scores is even.",
    hint="Everything else is right. What weight should a blocked key have after softmax, whatever the row?",
)
def mean_for_blocked_query(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    scores = scaled_scores(query, key)
    return attend(scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min), value)


@mistake(
    "-1e9 does not fit into half precision",
    symptom="an overflow error, or a NaN, as soon as training switches to float16",
    why="the smallest float16 number is -65504.",
    hint="Which value is the right one for *any* dtype? torch.finfo knows each dtype's limits.",
)
def fill_overflows_in_half(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    scores = scaled_scores(query, key)
    if mask is None:
        return attend(scores, value)
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1).masked_fill(~mask, 0.0)
    return weights @ value, weights


@mistake(
    "an input is changed in place",
    symptom="right the first time, wrong the second; residual connections add a changed x",
    why="operations like `/=`, `mul_` or `x[...] = ...` write into the caller's tensor.",
    hint="Which line assigns into query, key, value or mask, rather than making a new tensor?",
)
def changed_in_place(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    query /= query.shape[-1] ** 0.5
    return attend(query @ key.transpose(-2, -1), value, mask)


@mistake(
    "output and weights are returned in the wrong order",
    symptom="the next layer gets a tensor as wide as the sentence is long",
    why="the contract is (output, weights).",
    hint="Look at your return line.",
)
def returned_in_wrong_order(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    output, weights = attend(scaled_scores(query, key), value, mask)
    return weights, output


@mistake(
    "scores are returned where weights are asked for",
    symptom="attention maps with negative entries and rows that do not sum to one",
    why="scores are what goes into the softmax, weights are what comes out.",
    hint="Your output is right. Which variable do you return beside it?",
)
def scores_returned_as_weights(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    scores = scaled_scores(query, key)
    return attend(scores, value, mask)[0], scores


@mistake(
    "heads and tokens of the output have changed places",
    symptom="a shape error later on, or, with as many heads as tokens, silent nonsense",
    why="the function returns (batch, q_len, heads, d_head); it should keep the order of its inputs.",
    hint="Putting the heads back together is the caller's job. What shape came in as query?",
)
def output_transposed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    output, weights = attend(scaled_scores(query, key), value, mask)
    return output.transpose(1, 2), weights
