"""Checks how evenly a head looks: its entropy over ln n."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, output


def check_attention_entropy(fn: Callable[[Tensor], Tensor]) -> None:
    """Check fn(weights) with weights (heads, q_len, k_len), rows that sum to 1, -> (heads,), each from 0 to 1.

    The mean over a head's queries of H(α) / ln(k_len); a weight of 0 adds nothing to H.
    """
    COMPONENT.check(fn=fn)


def entropy(
    weights: Tensor,
    dim: int = -1,
    log: Callable[[Tensor], Tensor] = torch.log,
    shares: Callable[[Tensor], Tensor] = lambda parts: parts.mean(-1),
    whole: float | None = None,
) -> Tensor:
    """−Σ α ln α / ln n, the mean over the queries; the keywords exchange one step, for the mistakes below."""
    parts = torch.where(weights > 0, -weights * log(weights.clamp(min=1e-30)), 0.0).sum(dim)
    return shares(parts) / (math.log(weights.shape[dim]) if whole is None else whole)


def _trial(title: str, weights: list[Any]) -> Trial:
    return Trial(title, {"weights": torch.tensor(weights)}, output)


EVEN, SHARP = [0.25] * 4, [0.0, 1.0, 0.0, 0.0]
COMPONENT = Component(
    "attention entropy",
    chapter=16,
    reference=entropy,
    trials=[
        _trial("one query that looks at four keys alike", [[EVEN]]),
        _trial("one query that looks at one key alone", [[SHARP]]),
        _trial("one head: a sharp query and an even one", [[SHARP, EVEN]]),
        _trial("two queries, each sharp, at different keys", [[SHARP, [0.0, 0.0, 1.0, 0.0]]]),
        _trial("two heads of three queries and two keys", [[[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]], [[0.2, 0.8]] * 3]),
    ],
    # Weights come from a softmax: of rows that do not sum to 1, or of a weight below 0, an answer may make anything.
    gradient=gradient_of("weights", call=lambda fn, given: fn(given["weights"].softmax(-1))),
)
mistake = COMPONENT.mistake

mistake(
    "a weight of 0 gives NaN",
    symptom="NaN for every head that has a blocked key, and so for every decoder's own attention",
    why="0 · ln 0 is 0 · −∞, which floating point calls NaN; in the limit it is 0.",
    hint="What is p · ln p as p goes to 0? torch.special.entr knows.",
)(lambda weights: -(weights * weights.log()).sum(-1).mean(-1) / math.log(weights.shape[-1]))
mistake(
    "a small number is added inside the logarithm and the sign is lost",
    symptom="all entropies are negative or zero",
    why="ln of a share is negative; the minus in H = −Σ p ln p turns it round.",
    hint="Which sign has ln 0.5?",
)(lambda weights: -entropy(weights))
mistake(
    "it is not divided by ln n",
    symptom="longer sentences have larger entropies, and heads cannot be compared across them",
    why="the largest possible entropy over n keys is ln n; only the quotient lies between 0 and 1.",
    hint="What should four equal weights give? What do they give?",
)(partial(entropy, whole=1.0))
mistake(
    "it is divided by n, not by ln n",
    symptom="an even row does not give 1",
    why="n equal shares have the entropy ln n, not n.",
    hint="Put 1/n into −Σ p ln p. What remains?",
)(lambda weights: entropy(weights, whole=float(weights.shape[-1])))
mistake(
    "the logarithm has base 2, and what it is divided by is the natural one",
    symptom="an even row gives 1.44",
    why="numerator and denominator must use one base; then it cancels.",
    hint="Which base has math.log, and which torch.log2?",
)(partial(entropy, log=torch.log2))
mistake(
    "the sum runs over the queries, not over the keys",
    symptom="a head of sharp queries that all look at one key seems even",
    why="each query's weights are a distribution over the keys, the last dimension.",
    hint="Which dimension sums to 1?",
)(partial(entropy, dim=-2))
mistake(
    "the weights are averaged over the queries first",
    symptom="a head whose sharp queries look at different keys seems even",
    why="the entropy of a mean is not the mean of entropies: the queries' choices are mixed before they are measured.",
    hint="Two sharp queries at two keys: what do you measure, each row or their mean?",
)(lambda weights: entropy(weights.mean(dim=-2, keepdim=True)))
mistake(
    "the queries are added up, not averaged",
    symptom="values above 1, larger for longer sentences",
    why="a head's entropy is the mean over its queries.",
    hint="Can a share of the largest possible entropy be 2?",
)(partial(entropy, shares=lambda parts: parts.sum(-1)))
mistake(
    "the heads are averaged as well",
    symptom="one number for a layer: which head is sharp cannot be seen",
    why="the mean runs over the queries; dimension 0 holds the heads, and stays.",
    hint="How many numbers should two heads give?",
)(lambda weights: entropy(weights).mean())
mistake(
    "the largest weight is taken in place of the entropy",
    symptom="an even head has 1/n, a sharp one 1: the order is turned round",
    why="the largest weight says how sharp a row is, and nothing of how the rest is spread.",
    hint="What should a query that looks at one key alone give: 0 or 1?",
)(lambda weights: weights.amax(-1).mean(-1))
