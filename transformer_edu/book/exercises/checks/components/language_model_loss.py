"""Checks the loss of a language model: every next token of a text is an answer."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, loss_tensor, loss_value


def check_language_model_loss(fn: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """Check fn(logits, ids, pad_id) -> mean cross-entropy in nats of each next token, padding not counted.

    ids are (batch, seq), logits (batch, seq, vocab) are what a model with a causal mask says after each of them.
    Padding stands at the end of a text. The loss is a tensor with one entry, at which .backward() can start.
    """
    COMPONENT.check(fn=fn)


def _trial(title: str, logits: list[Any], ids: list[list[int]], pad_id: int = 0) -> Trial:
    return Trial(title, {"logits": torch.tensor(logits), "ids": torch.tensor(ids), "pad_id": pad_id}, loss_value)


A, B, C = [0.0, 1.0, 3.0, 0.5], [1.0, 0.0, 0.5, 2.0], [0.5, 2.0, 0.0, 1.5]  # scores of four tokens, of which 0 pads


def next_token_loss(
    logits: Tensor,
    ids: Tensor,
    pad_id: int,
    *,
    pair: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = lambda logits, ids: (logits[:, :-1], ids[:, 1:]),
    log_softmax: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1),
    counts: Callable[[Tensor, Tensor, int], Tensor] = lambda ids, target, pad_id: target != pad_id,
    average: Callable[[Tensor, Tensor], Tensor] = lambda losses, counted: losses.sum() / counted.sum(),
) -> Tensor:
    """−log p of each next token, the mean over the real ones; the keywords exchange one step, for the mistakes below.

    `pair`: which logits meet which ids. `counts`: which of these do. `average`: of losses, zero where they do not.
    """
    logits, target = pair(logits, ids)
    losses = -log_softmax(logits).gather(-1, target[..., None])[..., 0]
    counted = counts(ids, target, pad_id)
    return average(losses * counted, counted)


def _rolled(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    return logits, ids.roll(-1, dims=1)


COMPONENT = Component(
    "language-model loss",
    chapter=18,
    reference=next_token_loss,
    trials=[
        _trial("a text of two tokens", [[A, B]], [[1, 2]]),
        _trial("a text of four tokens", [[A, B, C, A]], [[2, 1, 3, 1]]),
        _trial("a text of four tokens, the last one padding", [[A, B, C, A]], [[3, 1, 2, 0]]),
        _trial("two texts of different length", [[A, C, B, A], [C, A, B, C]], [[3, 1, 2, 1], [1, 3, 0, 0]]),
        _trial("another padding id", [[B, A, C, B]], [[1, 2, 0, 3]], pad_id=3),
        _trial("one score far above the others", [[[0.0, 0.0, 1000.0, 0.0], B]], [[1, 1]]),
    ],
    gradient=gradient_of("logits", call=loss_tensor),
)
mistake = COMPONENT.mistake

mistake(
    "the targets are not shifted: each token is scored on itself",
    symptom="a loss near zero within minutes, and a model that repeats its last token for ever: copying is enough",
    why="logits[:, t] are computed from the tokens 0 .. t, so that token t has already been read.",
    hint="After which token are logits[:, 0] computed? Which token should they predict?",
)(partial(next_token_loss, pair=lambda logits, ids: (logits, ids)))
mistake(
    "the targets are shifted twice",
    symptom="texts that skip every other token; the loss stays high",
    why="two places shift by one: the data give ids and next ids, and the loss shifts them again.",
    hint="After the first token, which one does your loss ask for?",
)(partial(next_token_loss, pair=lambda logits, ids: (logits[:, :-2], ids[:, 2:])))
mistake(
    "the shift goes the wrong way: each token is asked for the one before it",
    symptom="a loss that falls towards zero, and nonsense when the model writes: what it says has been read already",
    why="logits[:, 1:] against ids[:, :-1] pairs position t with token t - 1.",
    hint="One of the two loses its first entry, the other its last. Which logits have no answer in the text?",
)(partial(next_token_loss, pair=lambda logits, ids: (logits[:, 1:], ids[:, :-1])))
mistake(
    "the targets are rolled: the last logits are scored on the first token",
    symptom="a loss that is a little too high, and a model that begins its text again where it should end",
    why="torch.roll moves what falls off one end to the other, so the last position gets an answer that it has not.",
    hint="What comes after the last token? How many answers are there in a text of n tokens?",
)(partial(next_token_loss, pair=_rolled))
mistake(
    "padding counts",
    symptom="a loss that depends on how far a batch is padded, and a model that learns to write padding",
    why="cross_entropy leaves out only the id that it is told: without `ignore_index` it is -100.",
    hint="Which of your targets does nobody have to predict?",
)(partial(next_token_loss, counts=lambda ids, target, pad_id: torch.ones_like(target, dtype=torch.bool)))
mistake(
    "padding adds no loss, but the sum is divided by all positions",
    symptom="a loss that depends on how far the batch is padded: short texts look easy",
    why="the mask zeroes the padding's losses, and .mean() still counts their places.",
    hint="By how many tokens do you divide, and how many are real?",
)(partial(next_token_loss, average=lambda losses, counted: losses.mean()))
mistake(
    "the mask of padding is not shifted with the targets",
    symptom="a model that writes padding after the last token of each text that was padded",
    why="what counts is decided by the token that was read, ids[:, :-1], not by the one to predict.",
    hint="At the last real token, what is the target? Does your mask leave it out?",
)(partial(next_token_loss, counts=lambda ids, target, pad_id: ids[:, :-1] != pad_id))
mistake(
    "id 0 is taken for padding, whatever pad_id says",
    symptom="right until a tokenizer has another padding id; then a real token is never learned",
    why="the 0 stands in the code; the argument is not used.",
    hint="Which argument of your function does the result not depend on?",
)(partial(next_token_loss, counts=lambda ids, target, pad_id: target != 0))
mistake(
    "the losses are added up, not averaged",
    symptom="the gradient grows with the batch and with the texts; a learning rate fits one size only",
    why="reduction='sum', or no division by the number of tokens.",
    hint="What should the loss of the same text, twice in a batch, be?",
)(partial(next_token_loss, average=lambda losses, counted: losses.sum()))
mistake(
    "each text is averaged first, then the texts",
    symptom="a token of a short text weighs more than one of a long text; the number is no perplexity's logarithm",
    why="the mean of means is the mean over tokens only where all texts have the same number of them.",
    hint="How many tokens are predicted in the whole batch? Does each of them count alike?",
)(partial(next_token_loss, average=lambda losses, counted: (losses.sum(-1) / counted.sum(-1)).mean()))
mistake(
    "the softmax runs over the positions, not over the vocabulary",
    symptom="a loss that falls, and a model that writes nonsense: no two tokens ever competed for a place",
    why="in (batch, seq, vocab) dimension 1 holds the positions; each position is a distribution of its own.",
    hint="Which dimension must sum to one after the softmax?",
)(partial(next_token_loss, log_softmax=partial(torch.log_softmax, dim=1)))
mistake(
    "the softmax is taken twice",
    symptom="a loss that stays high, however sure the model is; it learns slowly",
    why="cross_entropy takes logits and has a softmax inside; probabilities are not what it expects.",
    hint="What does cross_entropy do first with what you hand it?",
)(partial(next_token_loss, log_softmax=lambda logits: logits.softmax(-1).log_softmax(-1)))
mistake(
    "the logarithm has base 2: the loss is in bits",
    symptom="a loss 1.44 times that of others; exp(loss) is no perplexity",
    why="torch's cross_entropy and the perplexity exp(loss) use the natural logarithm.",
    hint="What does a vocabulary of four tokens, all alike, cost? ln 4 is 1.386.",
)(partial(next_token_loss, log_softmax=lambda logits: logits.log_softmax(-1) / math.log(2)))
mistake(
    "the logarithm of a probability that has become 0 is infinite",
    symptom="inf or NaN as soon as the model is very sure of a wrong token",
    why="softmax rounds tiny probabilities to 0; log_softmax never computes them.",
    hint="Which function of torch gives log-probabilities in one step?",
)(partial(next_token_loss, log_softmax=lambda logits: logits.softmax(-1).log()))
