"""Known mistakes in the probabilities that a next token is drawn from. Temperature, top-k, and the row as a whole."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from transformer_edu.checks.components.sampling_probabilities import SAMPLING

INF = float("inf")


def best_k(logits: Tensor, top_k: int) -> Tensor:
    """Which tokens top_k keeps: boolean, of the shape of the logits."""
    return logits >= logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]


def reaching_p(logits: Tensor, top_p: float, *, descending: bool = True, crossing: bool = True) -> Tensor:
    """Which tokens top_p keeps: boolean, of the shape of the logits."""
    ordered, places = logits.softmax(-1).sort(dim=-1, descending=descending)
    until = ordered.cumsum(-1)
    kept = until - ordered < top_p if crossing else until <= top_p
    return torch.zeros_like(kept).scatter(-1, places, kept)


def probabilities(
    logits: Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    *,
    scale: Callable[[Tensor, float], Tensor] = torch.div,
    k_kept: Callable[[Tensor, int], Tensor] = best_k,
    p_kept: Callable[[Tensor, float], Tensor] = reaching_p,
    cut: float = -INF,
    dim: int = -1,
) -> Tensor:
    """The right probabilities; the keywords exchange one step, for the mistakes below."""
    logits = scale(logits, temperature)
    if top_k is not None:
        logits = logits.masked_fill(~k_kept(logits, top_k), cut)
    if top_p is not None:
        logits = logits.masked_fill(~p_kept(logits, top_p), cut)
    return logits.softmax(dim)


def _known(name: str, symptom: str, why: str, hint: str, wrong: Callable[..., Tensor]) -> None:
    SAMPLING.mistake(name, symptom=symptom, why=why, hint=hint)(wrong)


def _divided_late(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    return probabilities(logits, 1.0, top_k, top_p) / temperature


def _never_normalized(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    kept = probabilities(logits, temperature, top_k, top_p) > 0
    return (logits / temperature).softmax(-1) * kept


def _in_place(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    return probabilities(logits.div_(temperature), 1.0, top_k, top_p)


def _one_more(logits: Tensor, top_k: int) -> Tensor:
    return best_k(logits, top_k + 1)


def _one_less(logits: Tensor, top_k: int) -> Tensor:
    return best_k(logits, top_k - 1) if top_k > 1 else torch.zeros_like(logits, dtype=torch.bool)


def _of_the_batch(logits: Tensor, top_k: int) -> Tensor:
    return best_k(logits.flatten(), top_k).view_as(logits)


def _no_more_than_there_are(logits: Tensor, top_k: int) -> Tensor:
    return logits >= logits.topk(top_k, dim=-1).values[..., -1:]


_known(
    "the probabilities are divided by the temperature, not the logits",
    "rows that do not sum to one; all tokens keep their proportions",
    "the division stands after the softmax, where it makes every probability smaller by the same factor.",
    "Does the ratio of two probabilities change with your temperature? What must be divided so that it does?",
    _divided_late,
)
_known(
    "the temperature has no effect",
    "the same answers at every temperature",
    "it is not used, or it divides the probabilities and cancels when they are normalized again.",
    "Print the row for temperatures 0.5 and 2. Where does the temperature enter, and what comes after it?",
    partial(probabilities, scale=lambda logits, temperature: logits),
)
_known(
    "the logits are multiplied by the temperature",
    "a low temperature gives wild answers, a high one always the same",
    "a temperature below 1 must make differences between logits larger: that is a division.",
    "Towards a temperature of 0 this should become greedy search. What does yours become?",
    partial(probabilities, scale=torch.mul),
)
_known(
    "the row is not normalized again after the cut",
    "rows that sum to less than one; a loss or a log-probability computed from them is wrong",
    "the tokens that are cut take their share with them.",
    "What do the entries that are left sum to?",
    _never_normalized,
)
_known(
    "the logits that are cut are set to 0, not to -inf",
    "tokens that should be out are drawn now and then, sometimes even more often than before",
    "after the softmax a logit of 0 is no probability of 0: exp(0) is 1.",
    "Which logit has the probability 0?",
    partial(probabilities, cut=0.0),
)
_known(
    "top_k keeps one token too few",
    "top_k=1 keeps nothing, and the row becomes NaN",
    "the comparison with the k-th largest value leaves that value itself out.",
    "Count the entries above 0 for top_k=2.",
    partial(probabilities, k_kept=_one_less),
)
_known(
    "top_k keeps one token too many",
    "top_k=1 is not greedy search",
    "in a sorted row the k-th value has the index k - 1.",
    "Count the entries above 0 for top_k=1.",
    partial(probabilities, k_kept=_one_more),
)
_known(
    "top_k keeps the least probable tokens",
    "nonsense from the first word on",
    "the row is sorted from small to large, and its beginning is taken.",
    "Which end of the sorted row do you keep?",
    partial(probabilities, k_kept=lambda logits, top_k: best_k(-logits, top_k)),
)
_known(
    "top_k looks for the k largest of the whole batch, not of each row",
    "a sentence's tokens depend on the other sentences of the batch; some rows are left empty",
    "the k-th largest value is taken over all entries.",
    "Every row needs a threshold of its own. Over which dimension does topk go, and what shape has the threshold?",
    partial(probabilities, k_kept=_of_the_batch),
)
_known(
    "top_k larger than the vocabulary is not allowed for",
    "an error from topk as soon as the vocabulary is small",
    "topk cannot give more values than there are.",
    "How many tokens are there to keep at most?",
    partial(probabilities, k_kept=_no_more_than_there_are),
)
_known(
    "the softmax runs over dimension 1, not over the last one",
    "right for (batch, vocab), wrong as soon as there is a dimension more or less",
    "in (batch, vocab) dimension 1 happens to be the last.",
    "Count from the end: which dimension holds the vocabulary?",
    partial(probabilities, dim=1),
)
_known(
    "the logits are changed in place",
    "what is computed from the logits later is wrong, though the answer was right",
    "an operation ending in _, /= or an assignment to logits[...] writes into the caller's tensor.",
    "Print the logits before and after the call.",
    _in_place,
)
