"""Checks scaled dot-product attention."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor, gradient_of


def check_scaled_dot_product_attention(fn: Callable[..., Any]) -> None:
    """Check fn(query, key, value, mask=None) -> output, or (output, weights).

    query, key and value are (batch, heads, len, d_head); a mask is boolean, True = may attend. A query that may
    attend to nothing has to get a zero output. Weights are compared when the function returns them.
    """
    COMPONENT.check(fn=fn)


def findings(result: Any) -> dict[str, Any]:
    """Output and weights, whichever way the function returns them."""
    if isinstance(result, tuple | list):
        if len(result) != 2:
            raise Unfit(f"returned {len(result)} things, expected output or (output, weights)")
        output, weights = result
        return {"output": as_tensor(output), "weights": None if weights is None else as_tensor(weights)}
    return {"output": as_tensor(result, "output or (output, weights)"), "weights": None}


def _attend(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return findings(fn(*given.values()))


def _attend_twice(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    try:
        first, second = (findings(fn(*given.values()))["output"] for _ in range(2))
    except Exception:  # what fails every time is no question of chance: the next trial shows it with fewer numbers
        return {"same output both times": True}
    return {"same output both times": first.shape == second.shape and bool(torch.equal(first, second))}


def _attend_in_half(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    found = findings(fn(*given.values()))
    return {"dtype": str(found["output"].dtype), "output": found["output"].float()}


def _inputs_afterwards(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    fn(*given.values())
    return {f"{name} after the call": tensor for name, tensor in given.items()}


def _random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _pair(value_rows: list[list[float]], queries: int = 2, **mask: Tensor) -> dict[str, Any]:
    """A few tokens of d_head 4 (so that √d_head = 2): query, key and value with batch 1 and one head."""
    query = torch.tensor([[2.0, 0, 0, 0], [0, 2, 0, 0], [1, 0, 1, 0]])[:queries]
    key = torch.tensor([[1.0, 0, 0, 0], [0, 2, 0, 0], [1, 0, 3, 0]])[: len(value_rows)]
    value = torch.tensor(value_rows)
    return {"query": query[None, None], "key": key[None, None], "value": value[None, None], **mask}


def _batch(dtype: torch.dtype = torch.float32, **mask: Tensor) -> dict[str, Any]:
    """Two sentences of three tokens, two heads of d_head 6, of which √6, 6 / 2 and log₂ 6 are three numbers."""
    drawn = _random(3, 2, 2, 3, 6).to(dtype)
    return {"query": drawn[0], "key": drawn[1], "value": drawn[2], **mask}


TWO: list[list[float]] = [[10.0, 0.0], [0.0, 20.0]]
THREE: list[list[float]] = [[10.0, 0.0], [0.0, 20.0], [30.0, 30.0]]
CAUSAL = torch.ones(3, 3).tril().bool()
PADDING = torch.tensor([[[[True, True, False]]], [[[True, False, False]]]])  # (batch, 1, 1, k_len)
LAST_BLOCKED = torch.tensor([[[[True, True, False]]]])  # (batch, 1, 1, k_len)
NOWHERE = torch.tensor([[True, False], [False, False]])  # the second query is blocked entirely
LONG = {name: _random(1, 2, 16, 4) for name in ("query", "key", "value")}

COMPONENT = Component(
    "attention",
    chapter=6,
    reference=scaled_dot_product_attention,
    trials=[
        Trial("the same sixteen tokens twice", LONG, _attend_twice),
        Trial("two tokens, no mask, d_head 4", _pair(TWO), _attend),
        Trial("two queries, three keys", _pair(THREE), _attend),
        Trial("two sentences, two heads", _batch(), _attend),
        Trial("two queries, three keys, the last one blocked", _pair(THREE, mask=LAST_BLOCKED), _attend),
        Trial("three tokens, causal mask", _pair(THREE, queries=3, mask=CAUSAL), _attend),
        Trial("two padded sentences", _batch(mask=PADDING), _attend),
        Trial("a second query that may look at nothing", _pair(TWO, mask=NOWHERE), _attend),
        Trial("a mask in half precision", _batch(torch.float16, mask=PADDING), _attend_in_half, tolerance=2e-2),
        Trial("the inputs afterwards", _pair(THREE, queries=3, mask=CAUSAL), _inputs_afterwards),
    ],
    gradient=gradient_of("query", "key", "value"),
)
mistake = COMPONENT.mistake


def filled(number: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Hide a blocked score behind this number."""
    return lambda scores, mask: scores.masked_fill(~mask, number)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    handed: Callable[..., tuple[Any, ...]] = lambda *given: given,
    turn: Callable[[Tensor], Tensor] = lambda key: key.transpose(-2, -1),
    divisor: Callable[[Tensor], float] = lambda query: math.sqrt(query.shape[-1]),
    change: Callable[[Tensor], Tensor] = lambda scores: scores,
    hide: Callable[[Tensor, Tensor], Tensor] = lambda scores, mask: filled(torch.finfo(scores.dtype).min)(scores, mask),
    normalize: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    zeroed: bool = True,
    answer: Callable[[Tensor, Tensor, Tensor], Any] = lambda scores, weights, value: (weights @ value, weights),
) -> Any:
    """The right steps, each of which a mistake can replace; zeroed: a blocked weight is 0, whatever the row."""
    query, key, value, mask = handed(query, key, value, mask)
    scores = change(query @ turn(key) / divisor(query))
    weights = normalize(scores if mask is None else hide(scores, mask))
    weights = weights.masked_fill(~mask, 0.0) if mask is not None and zeroed else weights
    return answer(scores, weights, value)


mistake(
    "dropout is always on",
    symptom="two runs on the same input differ, at test time too; scores jump from run to run",
    why="F.dropout drops unless it is told not to: its `training` argument defaults to True.",
    hint="The check calls without asking for dropout. What tells your dropout to stay off?",
)(partial(attend, answer=lambda scores, weights, value: (torch.dropout(weights, 0.1, train=True) @ value, weights)))
mistake(
    "the scores are not scaled",
    symptom="with large d_head the softmax saturates: one weight near 1, and almost no gradient for the rest",
    why="a dot product of d_head terms has a standard deviation of √d_head; the division by it is missing.",
    hint="Look at equation 1 of the paper: what stands under QKᵀ?",
)(partial(attend, divisor=lambda query: 1.0))
mistake(
    "the scores are divided by d_head rather than by its square root",
    symptom="weights that are too even: with d_head 64 every score shrinks to an eighth of what it should be",
    why="the *variance* of the dot product is d_head; what must be divided by is its standard deviation.",
    hint="With d_head = 4 the divisor should be 2. What is yours?",
)(partial(attend, divisor=lambda query: query.shape[-1]))
mistake(
    "the scores are multiplied by √d_head, not divided",
    symptom="attention that is nearly one-hot from the first step, and vanishing gradients",
    why="scaling is meant to shrink the scores back to a standard deviation of about 1.",
    hint="Do the scores grow or shrink in your version? Which of the two does the formula want?",
)(partial(attend, divisor=lambda query: query.shape[-1] ** -0.5))
mistake(
    "the scores are divided by the root of the sequence length",
    symptom="results change when the same sentence is padded further",
    why="the divisor is taken from dimension -2 (tokens), not from dimension -1 (d_head).",
    hint="query is (batch, heads, len, d_head). At which index does d_head stand?",
)(partial(attend, divisor=lambda query: query.shape[-2] ** 0.5))
mistake(
    "softmax runs over the queries (dim=-2)",
    symptom="each column of the weights sums to one instead of each row; a causal mask then leaks",
    why="scores are (..., q_len, k_len), and the weights of one query must sum to one over its keys.",
    hint="Print weights.sum(-1). Every entry should be 1; which `dim` makes it so?",
)(partial(attend, normalize=partial(torch.softmax, dim=-2)))
mistake(
    "softmax runs over the heads (dim=1)",
    symptom="with one head all weights are 1; with several, the heads compete for each pair of tokens",
    why="in (batch, heads, q_len, k_len) dimension 1 holds the heads (F.softmax without `dim` picks it, too).",
    hint="Which dimension holds the keys? Counting from the end works for any number of leading dimensions.",
)(partial(attend, normalize=partial(torch.softmax, dim=1)))
mistake(
    "softmax runs over the batch (dim=0)",
    symptom="a sentence's result changes with the other sentences of the batch; a single sentence gets weights of 1",
    why="in (batch, heads, q_len, k_len) dimension 0 holds the sentences.",
    hint="Which dimension holds the keys? Counting from the end works for any number of leading dimensions.",
)(partial(attend, normalize=partial(torch.softmax, dim=0)))
mistake(
    "there is no softmax",
    symptom="outputs that grow with the length of the sentence, negative weights",
    why="the raw scores are used as weights; they are neither positive nor do they sum to one.",
    hint="What turns a row of scores into a distribution?",
)(partial(attend, hide=filled(0.0), normalize=lambda scores: scores))
mistake(
    "the key is not transposed",
    symptom="a shape error, or, when the sentence happens to be d_head tokens long, silent nonsense",
    why="query @ key pairs features with tokens; each query must meet each key, feature by feature.",
    hint="(q_len, d_head) @ (?, ?) should give (q_len, k_len). Which shape does the second factor need?",
)(partial(attend, turn=lambda key: key))
mistake(
    "`.T` reverses all four dimensions of the key",
    symptom="a shape error that mentions batch and heads, though the code looks like the formula",
    why="the formula's T means the last two dimensions; `.T` of a four-dimensional tensor turns every one around.",
    hint="Which two dimensions should change places? Is there a transpose that takes them as arguments?",
)(partial(attend, turn=lambda key: key.permute(3, 2, 1, 0)))
mistake(
    "the wrong two dimensions of the key change places (heads and tokens)",
    symptom="a shape error, or, with as many heads as tokens, silent nonsense",
    why="transpose(1, 2) swaps heads and tokens; the product needs tokens and features swapped.",
    hint="Name the four dimensions of the key. Which two does QKᵀ swap?",
)(partial(attend, turn=lambda key: key.transpose(1, 2)))
mistake(
    "the key is reshaped rather than transposed",
    symptom="no error, shapes all right, and a model that learns far less than it should",
    why="reshape and view keep the numbers in their order and only cut them anew; transposing reorders them.",
    hint="Try both on a 2 × 3 tensor of 0..5 and print the results.",
)(partial(attend, turn=lambda key: key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])))
mistake(
    "the weights are applied to the key instead of the value",
    symptom="the value projection gets no gradient; the output has the key's width",
    why="keys only say how well they match; what is passed on is the value.",
    hint="Of query, key and value, which has your last product not used?",
)(partial(attend, handed=lambda query, key, value, mask: (query, key, key, mask)))
mistake(
    "the weights are returned as the output; the value is never used",
    symptom="an output as wide as the sentence is long",
    why="the last step, the weighted sum of the values, is missing.",
    hint="weights is (..., q_len, k_len) and value is (..., k_len, d_head). What joins them?",
)(partial(attend, answer=lambda scores, weights, value: (weights, weights)))
mistake(
    "the mask is not used",
    symptom="a training loss that falls far too low, because every position sees the answer",
    why="the function takes a mask, and nothing it does with the mask reaches the weights.",
    hint="Between which two steps must a blocked score lose its influence? (masked_fill returns a new tensor.)",
)(partial(attend, handed=lambda query, key, value, mask: (query, key, value, None)))
mistake(
    "the mask is inverted: it blocks what is allowed",
    symptom="tokens see what should be hidden, and nothing else: under a causal mask, the future",
    why="here True means *may attend*; torch.nn.MultiheadAttention's masks mean the opposite.",
    hint="masked_fill fills where its mask is True. Is that where attention is allowed?",
)(partial(attend, handed=lambda query, key, value, mask: (query, key, value, None if mask is None else ~mask)))
mistake(
    "the mask is applied after the softmax, and the rows no longer sum to one",
    symptom="early positions have small outputs; the size of blocked scores still leaks into the others",
    why="the softmax has already handed weight to the blocked keys; zeroing it there does not give it back.",
    hint="A blocked key must not take part in the competition. Before or after softmax?",
)(partial(attend, hide=lambda scores, mask: scores))
mistake(
    "blocked scores are set to 0, not to minus infinity",
    symptom="blocked keys still get weight, often more than the allowed ones",
    why="exp(0) is 1: a score of 0 is an ordinary score. (A fill of -1e-9, for -1e9, does the same.)",
    hint="Which score makes exp(score) vanish?",
)(partial(attend, hide=filled(0.0), zeroed=False))
mistake(
    "the boolean mask is added to the scores",
    symptom="allowed keys are favoured a little, blocked ones still get weight",
    why="True and False add 1 and 0. An additive mask needs 0 where allowed and minus infinity where blocked.",
    hint="What do you want to add at a blocked place? What does False add?",
)(partial(attend, hide=torch.add, zeroed=False))
mistake(
    "a query that may look at nothing becomes NaN",
    symptom="one empty or fully padded sentence turns the loss, then every weight of the model, into NaN",
    why="softmax of a row of minus infinities is 0 / 0.",
    hint="What should such a row be, and when can you put it there?",
)(partial(attend, hide=filled(-math.inf), zeroed=False))
mistake(
    "a query that may look at nothing takes the mean of all values, the blocked ones too",
    symptom="padding rows carry real content; two code paths that should agree differ on them",
    why="a large negative number on a whole row is the same number everywhere, and softmax of equal scores is even.",
    hint="What weight should a blocked key have after softmax, whatever the row?",
)(partial(attend, zeroed=False))
mistake(
    "-1e9 does not fit into half precision",
    symptom="an overflow error, or a NaN, as soon as training switches to float16",
    why="the smallest float16 number is -65504.",
    hint="Which value is the right one for *any* dtype? torch.finfo knows each dtype's limits.",
)(partial(attend, hide=filled(-1e9)))


def unfaded(scores: Tensor) -> Tensor:
    """Weights of keys taken two at a time, each two less the largest score so far, which no earlier sum learns of."""
    parts = [part - scores[..., : 2 * i + 2].amax(-1, keepdim=True) for i, part in enumerate(scores.split(2, dim=-1))]
    shares = torch.cat(parts, dim=-1).exp()
    return shares / shares.sum(-1, keepdim=True)


mistake(
    "what was summed before is not shrunk when a larger score comes",
    symptom="right for short texts, which fit into one block; in longer ones the first blocks get too much weight",
    why="each block's exponentials were taken less the largest score *so far*; a later block's are less a larger one.",
    hint="The sum so far is of e^(s − old). By which factor does it become the sum of e^(s − new)? What else is so?",
)(partial(attend, normalize=unfaded))
mistake(
    "an input is changed in place",
    symptom="right the first time, wrong the second; residual connections add a changed x",
    why="operations like `/=`, `mul_` or `x[...] = ...` write into the caller's tensor.",
    hint="Which line assigns into query, key, value or mask, rather than making a new tensor?",
)(
    partial(
        attend,
        handed=lambda query, *others: (query.div_(query.shape[-1] ** 0.5), *others),
        divisor=lambda query: 1.0,
    )
)
mistake(
    "output and weights are returned in the wrong order",
    symptom="the next layer gets a tensor as wide as the sentence is long",
    why="the contract is (output, weights).",
    hint="Look at your return line.",
)(partial(attend, answer=lambda scores, weights, value: (weights, weights @ value)))
mistake(
    "scores are returned where weights are asked for",
    symptom="attention maps with negative entries and rows that do not sum to one",
    why="scores are what goes into the softmax, weights are what comes out.",
    hint="Your output is right. Which variable do you return beside it?",
)(partial(attend, answer=lambda scores, weights, value: (weights @ value, scores)))
mistake(
    "heads and tokens of the output have changed places",
    symptom="a shape error later on, or, with as many heads as tokens, silent nonsense",
    why="the function returns (batch, q_len, heads, d_head); it should keep the order of its inputs.",
    hint="Putting the heads back together is the caller's job. What shape came in as query?",
)(partial(attend, answer=lambda scores, weights, value: ((weights @ value).transpose(1, 2), weights)))
