"""Checks the loss of an answer: a request is read, and only what follows it is learned."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.components.language_model_loss import A, B, C, next_token_loss
from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, loss_tensor, loss_value


def check_answer_loss(fn: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> None:
    """Check fn(logits, ids, starts, pad_id) -> mean cross-entropy in nats of the tokens of the answers.

    ids (batch, seq) hold requests with their answers, padding behind them; starts (batch,) say at which id each answer
    begins; logits (batch, seq, vocab) are what a model with a causal mask says after each of the ids. The loss is a
    tensor with one entry, at which .backward() can start.
    """
    COMPONENT.check(fn=fn)


def answer_loss(
    logits: Tensor,
    ids: Tensor,
    starts: Tensor,
    pad_id: int,
    *,
    answers: Callable[[Tensor, Tensor], Tensor] = lambda places, starts: places >= starts,
    real: Callable[[Tensor, int], Tensor] = lambda target, pad_id: target != pad_id,
    pair: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = lambda logits, ids: (logits[:, :-1], ids[:, 1:]),
    average: Callable[[Tensor, Tensor], Tensor] = lambda losses, counted: losses.sum() / counted.sum(),
) -> Tensor:
    """−log p of the answers' tokens, and their mean; the keywords exchange one step, for the mistakes below."""

    def counts(ids: Tensor, target: Tensor, pad_id: int) -> Tensor:
        places = torch.arange(ids.shape[1] - target.shape[1], ids.shape[1])
        return answers(places, starts[:, None]) & real(target, pad_id)

    return next_token_loss(logits, ids, pad_id, pair=pair, counts=counts, average=average)


def _trial(
    title: str, logits: list[list[list[float]]], ids: list[list[int]], starts: list[int], pad_id: int = 0
) -> Trial:
    given = {"logits": torch.tensor(logits), "ids": torch.tensor(ids), "starts": torch.tensor(starts), "pad_id": pad_id}
    return Trial(title, given, loss_value)


COMPONENT = Component(
    "answer loss",
    chapter=21,
    reference=answer_loss,
    trials=[
        _trial("a request of two tokens, an answer of two", [[A, B, C, A]], [[2, 1, 3, 1]], [2]),
        _trial("two requests of different length", [[A, C, B, A], [C, A, B, B]], [[3, 1, 2, 1], [1, 3, 1, 2]], [1, 3]),
        _trial("two answers, one of them padded", [[A, C, B, A], [C, A, B, C]], [[3, 1, 2, 1], [1, 3, 2, 0]], [1, 1]),
        _trial("another padding id", [[B, A, C, B]], [[1, 2, 0, 3]], [2], pad_id=3),
    ],
    gradient=gradient_of("logits", call=loss_tensor),
)
mistake = COMPONENT.mistake

mistake(
    "the request is learned, too",
    symptom="a model that asks in place of answering; long requests outweigh short answers",
    why="every token that is not padding counts, and the request's tokens are not padding.",
    hint="Who writes the request, and who the answer? Which of the two shall the model learn to write?",
)(partial(answer_loss, answers=lambda places, starts: places >= 0))
mistake(
    "the first token of each answer is not learned",
    symptom="answers that begin anyhow, and go on well",
    why="the mask is laid over the tokens that are read, not over those that are asked for: it is late by one.",
    hint="After which token does the model say the first word of its answer? Does your mask count that place?",
)(partial(answer_loss, answers=lambda places, starts: places > starts))
mistake(
    "the last token of the request is learned, too",
    symptom="hardly any, where all requests end alike; else a loss that is a little too high",
    why="the targets are shifted by one, and the beginning of the answer with them: once too often.",
    hint="Which id stands at `starts`? Which is the first target that counts?",
)(partial(answer_loss, answers=lambda places, starts: places >= starts - 1))
mistake(
    "the request is learned, and the answer is not",
    symptom="a model that asks, and never answers",
    why="the mask is upside down: it keeps what it should leave out.",
    hint="At which places is your mask True?",
)(partial(answer_loss, answers=lambda places, starts: places < starts))
mistake(
    "padding counts as part of the answer",
    symptom="a loss that depends on how far a batch is padded, and a model that learns to write padding",
    why="all that stands behind the beginning of the answer counts, to the end of the row.",
    hint="What stands behind a short answer, in the same batch as a long one?",
)(partial(answer_loss, real=lambda target, pad_id: torch.ones_like(target, dtype=torch.bool)))
mistake(
    "the sum is divided by all positions",
    symptom="the longer the request, the smaller the loss and the gradient of its answer",
    why="the request's losses are zeroed, and .mean() still counts their places.",
    hint="By how many tokens do you divide, and how many are answers?",
)(partial(answer_loss, average=lambda losses, counted: losses.mean()))
mistake(
    "each answer is averaged first, then the answers",
    symptom="a token of a short answer weighs more than one of a long one",
    why="the mean of means is the mean over tokens only where all answers have the same number of them.",
    hint="How many tokens are learned in the whole batch? Does each of them count alike?",
)(partial(answer_loss, average=lambda losses, counted: (losses.sum(-1) / counted.sum(-1)).mean()))
mistake(
    "the targets of an answer are not shifted",
    symptom="a loss near zero within minutes, and a model that repeats the last token of the request",
    why="logits[:, t] are computed from the ids 0 .. t, so that id t has already been read.",
    hint="After which id are the logits computed that should say the first word of the answer?",
)(partial(answer_loss, pair=lambda logits, ids: (logits, ids)))
