"""Known mistakes in the probabilities that a next token is drawn from: top-p."""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from transformer_edu.checks.components.sampling_mistakes import INF, probabilities, reaching_p
from transformer_edu.checks.components.sampling_probabilities import SAMPLING


def _known(name: str, symptom: str, why: str, hint: str, wrong: Callable[..., Tensor]) -> None:
    SAMPLING.mistake(name, symptom=symptom, why=why, hint=hint)(wrong)


def _p_before_k(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    kept = probabilities(logits, temperature, None, top_p) > 0
    return probabilities(logits.masked_fill(~kept, -INF), temperature, top_k, None)


def _cut_before_temperature(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    kept = probabilities(logits, 1.0, top_k, top_p) > 0
    return (logits / temperature).masked_fill(~kept, -INF).softmax(-1)


def _in_sorted_order(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    result = probabilities(logits, temperature, top_k, top_p)
    return result if top_p is None else result.sort(dim=-1, descending=True).values


def _above_p(logits: Tensor, top_p: float) -> Tensor:
    return logits.softmax(-1) > top_p


def _in_id_order(logits: Tensor, top_p: float) -> Tensor:
    until = logits.softmax(-1).cumsum(-1)
    return until - logits.softmax(-1) < top_p


_known(
    "top_p leaves out the token with which the sum reaches p",
    "too few tokens; none at all, and NaN, where one token alone is more probable than p",
    "the tokens whose running sum is at most p are kept; together they do not reach p.",
    "Do the kept tokens reach p? For each token: what had the tokens before it reached without it?",
    partial(probabilities, p_kept=partial(reaching_p, crossing=False)),
)
_known(
    "top_p keeps the tokens that are more probable than p",
    "mostly one token or none, hence NaN",
    "p is compared with each probability alone; it is a bound for their sum.",
    "With p = 0.9, can two tokens ever be kept?",
    partial(probabilities, p_kept=_above_p),
)
_known(
    "top_p adds up from the least probable token",
    "the unlikely tokens stay; the likeliest is cut as soon as the others reach p",
    "sort gives the smallest value first unless it is told otherwise.",
    "Which token must be the first of the running sum?",
    partial(probabilities, p_kept=partial(reaching_p, descending=False)),
)
_known(
    "top_p adds up in the order of the ids",
    "tokens with a small id stay, whatever their probability",
    "the running sum goes over the row as it is, not sorted.",
    "Which token must be the first of the running sum?",
    partial(probabilities, p_kept=_in_id_order),
)
_known(
    "the probabilities come back in sorted order",
    "with top_p the first ids are drawn, whatever the model says",
    "the row was sorted for the running sum, and nothing puts the entries back in their places.",
    "sort gives two results. What is the second one for?",
    _in_sorted_order,
)
_known(
    "the cut comes before the temperature",
    "a high temperature brings fewer new tokens than it should, a low one keeps too many",
    "top_p is measured on softmax(logits), not on softmax(logits / temperature).",
    "Which probabilities are drawn from in the end? Those should reach p.",
    _cut_before_temperature,
)
_known(
    "top_p is measured on all tokens, not on those that top_k has left",
    "top_p has less effect than it should when top_k is used as well",
    "the kept tokens must sum to one again before their running sum is compared with p.",
    "Which probabilities do the tokens have among those that top_k keeps?",
    _p_before_k,
)
