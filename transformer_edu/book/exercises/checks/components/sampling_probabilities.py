"""Checks the probabilities that a next token is drawn from: temperature, top-k and top-p."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, inputs_afterwards, output
from transformer_edu.decoding.sampling import sampling_probabilities

Logits = list[Any]


def check_sampling_probabilities(fn: Callable[..., Tensor]) -> None:
    """Check fn(logits, temperature, top_k, top_p) -> probabilities of the same shape (..., vocab).

    The logits are divided by the temperature; of their softmax the top_k most probable tokens are kept (None: all,
    and so if there are fewer); of these, with probabilities that sum to one again, the fewest most probable that reach
    top_p together (None: all). What is kept sums to one, everything else is 0. The logits stay as they are.
    """
    COMPONENT.check(fn=fn)


def _trial(
    title: str,
    logits: Logits,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    observe: Callable[[Any, dict[str, Any]], Any] = output,
) -> Trial:
    given = {"logits": torch.tensor(logits), "temperature": temperature, "top_k": top_k, "top_p": top_p}
    return Trial(title, given, observe)


COMPONENT = Component(
    "sampling probabilities", chapter=14,
    reference=sampling_probabilities,
    trials=[
        _trial("a temperature of 2, one row of three tokens", [0.0, 2.0, 1.0], 2.0),
        _trial("a temperature of 1/2", [[0.0, 2.0, 1.0]], 0.5),
        _trial("the two most probable tokens", [[0.0, 2.0, -1.0, 1.0]], top_k=2),
        _trial("the most probable token alone", [[0.5, 2.0, 1.0]], top_k=1),
        _trial("two tokens of one score are the most probable ones", [[2.0, 0.5, 2.0, 1.0]], top_k=2),
        _trial("top_p of 0.8", [[0.4, 1.6, -2.0, 1.0]], top_p=0.8),
        _trial("a token more probable than top_p", [[0.0, 3.0, 1.0]], top_p=0.6),
        _trial("a high temperature, then top_p", [[0.0, 2.0, 1.0, -1.0]], 2.0, top_p=0.8),
        _trial("top_k, then top_p", [[0.6, 1.0, 0.0, 0.3, 0.8]], top_k=3, top_p=0.6),
        _trial("two rows of different size, top_k", [[0.0, 2.0, 1.0], [5.0, 3.0, 4.0]], top_k=2),
        _trial(
            "two sentences of two positions",
            [[[0.0, 2.0, 1.0], [1.5, 0.5, -1.0]], [[3.0, 2.0, 2.5], [0.2, 0.0, 0.7]]], 1.5, 2, 0.62,
        ),
        _trial("top_k beyond the vocabulary", [[0.0, 2.0, 1.0]], top_k=5),
        _trial("the logits after the call", [[0.0, 2.0, 1.0]], 2.0, 2, 0.9, inputs_afterwards),
    ],
)  # fmt: skip
mistake = COMPONENT.mistake
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


def _different_scores(logits: Tensor, top_k: int) -> Tensor:
    fewer = [sum(row.unique() > score) for row in logits.view(-1, logits.shape[-1]) for score in row]
    return torch.tensor(fewer).view_as(logits) < top_k


def _first_of_that_score(logits: Tensor, top_k: int) -> Tensor:
    best = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values
    places = (logits[..., None, :] == best[..., None]).int().argmax(-1)
    return torch.zeros_like(logits, dtype=torch.bool).scatter(-1, places, True)


def _no_more_than_there_are(logits: Tensor, top_k: int) -> Tensor:
    return logits >= logits.topk(top_k, dim=-1).values[..., -1:]


mistake(
    "the probabilities are divided by the temperature, not the logits",
    symptom="rows that do not sum to one; all tokens keep their proportions",
    why="the division stands after the softmax, where it makes every probability smaller by the same factor.",
    hint="Does the ratio of two probabilities change with your temperature? What must be divided so that it does?",
)(_divided_late)
mistake(
    "the temperature has no effect",
    symptom="the same answers at every temperature",
    why="it is not used, or it divides the probabilities and cancels when they are normalized again.",
    hint="Print the row for temperatures 0.5 and 2. Where does the temperature enter, and what comes after it?",
)(partial(probabilities, scale=lambda logits, temperature: logits))
mistake(
    "the logits are multiplied by the temperature",
    symptom="a low temperature gives wild answers, a high one always the same",
    why="a temperature below 1 must make differences between logits larger: that is a division.",
    hint="Towards a temperature of 0 this should become greedy search. What does yours become?",
)(partial(probabilities, scale=torch.mul))
mistake(
    "the row is not normalized again after the cut",
    symptom="rows that sum to less than one; a loss or a log-probability computed from them is wrong",
    why="the tokens that are cut take their share with them.",
    hint="What do the entries that are left sum to?",
)(_never_normalized)
mistake(
    "the logits that are cut are set to 0, not to -inf",
    symptom="tokens that should be out are drawn now and then, sometimes even more often than before",
    why="after the softmax a logit of 0 is no probability of 0: exp(0) is 1.",
    hint="Which logit has the probability 0?",
)(partial(probabilities, cut=0.0))
mistake(
    "top_k keeps one token too few",
    symptom="top_k=1 keeps nothing, and the row becomes NaN",
    why="the comparison with the k-th largest value leaves that value itself out.",
    hint="Count the entries above 0 for top_k=2.",
)(partial(probabilities, k_kept=_one_less))
mistake(
    "top_k keeps one token too many",
    symptom="top_k=1 is not greedy search",
    why="in a sorted row the k-th value has the index k - 1.",
    hint="Count the entries above 0 for top_k=1.",
)(partial(probabilities, k_kept=_one_more))
mistake(
    "top_k keeps the least probable tokens",
    symptom="nonsense from the first word on",
    why="the row is sorted from small to large, and its beginning is taken.",
    hint="Which end of the sorted row do you keep?",
)(partial(probabilities, k_kept=lambda logits, top_k: best_k(-logits, top_k)))
mistake(
    "top_k looks for the k largest of the whole batch, not of each row",
    symptom="a sentence's tokens depend on the other sentences of the batch; some rows are left empty",
    why="the k-th largest value is taken over all entries.",
    hint="Every row needs a threshold of its own. Over which dimension does topk go, and what shape has the threshold?",
)(partial(probabilities, k_kept=_of_the_batch))
mistake(
    "top_k counts different scores, so that tokens of one score count once",
    symptom="more than k tokens are kept wherever scores are equal, as in low precision they often are",
    why="the k-th largest of the different values (unique, set) is smaller than the k-th largest value.",
    hint="Two tokens share the highest score. Which value is the second largest of the row?",
)(partial(probabilities, k_kept=_different_scores))
mistake(
    "top_k looks its tokens up by their scores, and finds the first of two alike twice",
    symptom="fewer than k tokens are kept wherever scores are equal; the later token is never drawn",
    why="list.index, or an argmax of ==, knows one place for a score.",
    hint="topk gives two results. Which of them tells two tokens of one score apart?",
)(partial(probabilities, k_kept=_first_of_that_score))
mistake(
    "top_k larger than the vocabulary is not allowed for",
    symptom="an error from topk as soon as the vocabulary is small",
    why="topk cannot give more values than there are.",
    hint="How many tokens are there to keep at most?",
)(partial(probabilities, k_kept=_no_more_than_there_are))
mistake(
    "the softmax runs over dimension 1, not over the last one",
    symptom="right for (batch, vocab), wrong as soon as there is a dimension more or less",
    why="in (batch, vocab) dimension 1 happens to be the last.",
    hint="Count from the end: which dimension holds the vocabulary?",
)(partial(probabilities, dim=1))
mistake(
    "the softmax runs over the batch (dim=0), not over the last dimension",
    symptom="right for a single row without a batch; in a batch the sentences compete for each token",
    why="in (batch, vocab) dimension 0 holds the sentences.",
    hint="Count from the end: which dimension holds the vocabulary?",
)(partial(probabilities, dim=0))
mistake(
    "the logits are changed in place",
    symptom="what is computed from the logits later is wrong, though the answer was right",
    why="an operation ending in _, /= or an assignment to logits[...] writes into the caller's tensor.",
    hint="Print the logits before and after the call.",
)(_in_place)


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


mistake(
    "top_p leaves out the token with which the sum reaches p",
    symptom="too few tokens; none at all, and NaN, where one token alone is more probable than p",
    why="the tokens whose running sum is at most p are kept; together they do not reach p.",
    hint="Do the kept tokens reach p? For each token: what had the tokens before it reached without it?",
)(partial(probabilities, p_kept=partial(reaching_p, crossing=False)))
mistake(
    "top_p keeps the tokens that are more probable than p",
    symptom="mostly one token or none, hence NaN",
    why="p is compared with each probability alone; it is a bound for their sum.",
    hint="With p = 0.9, can two tokens ever be kept?",
)(partial(probabilities, p_kept=_above_p))
mistake(
    "top_p adds up from the least probable token",
    symptom="the unlikely tokens stay; the likeliest is cut as soon as the others reach p",
    why="sort gives the smallest value first unless it is told otherwise.",
    hint="Which token must be the first of the running sum?",
)(partial(probabilities, p_kept=partial(reaching_p, descending=False)))
mistake(
    "top_p adds up in the order of the ids",
    symptom="tokens with a small id stay, whatever their probability",
    why="the running sum goes over the row as it is, not sorted.",
    hint="Which token must be the first of the running sum?",
)(partial(probabilities, p_kept=_in_id_order))
mistake(
    "the probabilities come back in sorted order",
    symptom="with top_p the first ids are drawn, whatever the model says",
    why="the row was sorted for the running sum, and nothing puts the entries back in their places.",
    hint="sort gives two results. What is the second one for?",
)(_in_sorted_order)
mistake(
    "the cut comes before the temperature",
    symptom="a high temperature brings fewer new tokens than it should, a low one keeps too many",
    why="top_p is measured on softmax(logits), not on softmax(logits / temperature).",
    hint="Which probabilities are drawn from in the end? Those should reach p.",
)(_cut_before_temperature)
mistake(
    "top_p is measured on all tokens, not on those that top_k has left",
    symptom="top_p has less effect than it should when top_k is used as well",
    why="the kept tokens must sum to one again before their running sum is compared with p.",
    hint="Which probabilities do the tokens have among those that top_k keeps?",
)(_p_before_k)
