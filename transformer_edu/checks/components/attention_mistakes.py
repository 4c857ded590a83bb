"""Known mistakes in scaled dot-product attention, each as the code that makes it."""

import math

import torch
from torch import Tensor

from transformer_edu.checks.components.attention import ATTENTION

mistake = ATTENTION.mistake
Result = tuple[Tensor, Tensor]


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    """QKᵀ / √d_head, right."""
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def attend(scores: Tensor, value: Tensor, mask: Tensor | None = None, dim: int = -1) -> Result:
    """Mask, softmax and weighted sum, right (for dim=-1)."""
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=dim)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


@mistake(
    "dropout is always on",
    symptom="two runs on the same input differ, at test time too; scores jump from run to run",
    why="F.dropout drops unless it is told not to: its `training` argument defaults to True.",
    hint="The check calls without asking for dropout. What tells your dropout to stay off?",
)
def dropout_always_on(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    _, weights = attend(scaled_scores(query, key), value, mask)
    return torch.dropout(weights, 0.1, train=True) @ value, weights


@mistake(
    "the scores are not scaled",
    symptom="with large d_head the softmax saturates: one weight near 1, and almost no gradient for the rest",
    why="a dot product of d_head terms has a standard deviation of √d_head; the division by it is missing.",
    hint="Look at equation 1 of the paper: what stands under QKᵀ?",
)
def no_scaling(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(query @ key.transpose(-2, -1), value, mask)


@mistake(
    "the scores are divided by d_head rather than by its square root",
    symptom="weights that are too even: with d_head 64 every score shrinks to an eighth of what it should be",
    why="the *variance* of the dot product is d_head; what must be divided by is its standard deviation.",
    hint="With d_head = 4 the divisor should be 2. What is yours?",
)
def scaled_by_d_head(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(query @ key.transpose(-2, -1) / query.shape[-1], value, mask)


@mistake(
    "the scores are multiplied by √d_head, not divided",
    symptom="attention that is nearly one-hot from the first step, and vanishing gradients",
    why="scaling is meant to shrink the scores back to a standard deviation of about 1.",
    hint="Do the scores grow or shrink in your version? Which of the two does the formula want?",
)
def scaled_up(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(query @ key.transpose(-2, -1) * math.sqrt(query.shape[-1]), value, mask)


@mistake(
    "the scores are divided by the root of the sequence length",
    symptom="results change when the same sentence is padded further",
    why="the divisor is taken from dimension -2 (tokens), not from dimension -1 (d_head).",
    hint="query is (batch, heads, len, d_head). At which index does d_head stand?",
)
def scaled_by_length(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-2]), value, mask)


@mistake(
    "softmax runs over the queries (dim=-2)",
    symptom="each column of the weights sums to one instead of each row; a causal mask then leaks",
    why="scores are (..., q_len, k_len), and the weights of one query must sum to one over its keys.",
    hint="Print weights.sum(-1). Every entry should be 1; which `dim` makes it so?",
)
def softmax_over_queries(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(scaled_scores(query, key), value, mask, dim=-2)


@mistake(
    "softmax runs over the heads (dim=1)",
    symptom="with one head all weights are 1; with several, the heads compete for each pair of tokens",
    why="in (batch, heads, q_len, k_len) dimension 1 holds the heads (F.softmax without `dim` picks it, too).",
    hint="Which dimension holds the keys? Counting from the end works for any number of leading dimensions.",
)
def softmax_over_heads(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(scaled_scores(query, key), value, mask, dim=1)


@mistake(
    "softmax runs over the batch (dim=0)",
    symptom="a sentence's result changes with the other sentences of the batch; a single sentence gets weights of 1",
    why="in (batch, heads, q_len, k_len) dimension 0 holds the sentences.",
    hint="Which dimension holds the keys? Counting from the end works for any number of leading dimensions.",
)
def softmax_over_batch(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(scaled_scores(query, key), value, mask, dim=0)


@mistake(
    "there is no softmax",
    symptom="outputs that grow with the length of the sentence, negative weights",
    why="the raw scores are used as weights; they are neither positive nor do they sum to one.",
    hint="What turns a row of scores into a distribution?",
)
def no_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    scores = scaled_scores(query, key)
    scores = scores if mask is None else scores.masked_fill(~mask, 0.0)
    return scores @ value, scores


@mistake(
    "the key is not transposed",
    symptom="a shape error, or, when the sentence happens to be d_head tokens long, silent nonsense",
    why="query @ key pairs features with tokens; each query must meet each key, feature by feature.",
    hint="(q_len, d_head) @ (?, ?) should give (q_len, k_len). Which shape does the second factor need?",
)
def key_not_transposed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(query @ key / math.sqrt(query.shape[-1]), value, mask)


@mistake(
    "`.T` reverses all four dimensions of the key",
    symptom="a shape error that mentions batch and heads, though the code looks like the formula",
    why="the formula's T means the last two dimensions; `.T` of a four-dimensional tensor turns every one around.",
    hint="Which two dimensions should change places? Is there a transpose that takes them as arguments?",
)
def all_dimensions_reversed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(query @ key.permute(3, 2, 1, 0) / math.sqrt(query.shape[-1]), value, mask)


@mistake(
    "the wrong two dimensions of the key change places (heads and tokens)",
    symptom="a shape error, or, with as many heads as tokens, silent nonsense",
    why="transpose(1, 2) swaps heads and tokens; the product needs tokens and features swapped.",
    hint="Name the four dimensions of the key. Which two does QKᵀ swap?",
)
def heads_and_tokens_swapped(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    return attend(query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]), value, mask)


@mistake(
    "the key is reshaped rather than transposed",
    symptom="no error, shapes all right, and a model that learns far less than it should",
    why="reshape and view keep the numbers in their order and only cut them anew; transposing reorders them.",
    hint="Try both on a 2 × 3 tensor of 0..5 and print the results.",
)
def key_reshaped(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    turned = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    return attend(query @ turned / math.sqrt(query.shape[-1]), value, mask)


@mistake(
    "the weights are applied to the key instead of the value",
    symptom="the value projection gets no gradient; the output has the key's width",
    why="keys only say how well they match; what is passed on is the value.",
    hint="Of query, key and value, which has your last product not used?",
)
def weights_applied_to_key(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    _, weights = attend(scaled_scores(query, key), value, mask)
    return weights @ key, weights


@mistake(
    "the weights are returned as the output; the value is never used",
    symptom="an output as wide as the sentence is long",
    why="the last step, the weighted sum of the values, is missing.",
    hint="weights is (..., q_len, k_len) and value is (..., k_len, d_head). What joins them?",
)
def value_never_used(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    _, weights = attend(scaled_scores(query, key), value, mask)
    return weights, weights
