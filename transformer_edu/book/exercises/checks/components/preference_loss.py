"""Checks the loss of a preference: of two answers, the better becomes likelier than the worse (DPO)."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, loss_tensor, loss_value


def check_preference_loss(fn: Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]) -> None:
    """Check fn(better, worse, better_before, worse_before, beta) -> the mean loss of direct preference optimization.

    better and worse (pairs,) are log-probabilities of whole answers, in nats, by the model that learns; those `before`
    are of the model as it was. The loss is a tensor with one entry, at which .backward() can start (Rafailov et al.,
    2023, equation 7).
    """
    COMPONENT.check(fn=fn)


def preference_loss(
    better: Tensor,
    worse: Tensor,
    better_before: Tensor,
    worse_before: Tensor,
    beta: float,
    *,
    gain: Callable[[Tensor, Tensor], Tensor] = lambda now, before: now - before,
    lead: Callable[[Tensor, Tensor], Tensor] = lambda better, worse: better - worse,
    loss: Callable[[Tensor, float], Tensor] = lambda lead, beta: -F.logsigmoid(beta * lead),
    average: Callable[[Tensor], Tensor] = lambda losses: losses.mean(),
) -> Tensor:
    """−log σ(β · lead), lead = what the better has gained less what the worse has; the keywords exchange one step."""
    return average(loss(lead(gain(better, better_before), gain(worse, worse_before)), beta))


def _trial(title: str, better: list[float], worse: list[float], before: list[list[float]], beta: float) -> Trial:
    given = {"better": better, "worse": worse, "better_before": before[0], "worse_before": before[1]}
    return Trial(title, {name: torch.tensor(one) for name, one in given.items()} | {"beta": beta}, loss_value)


COMPONENT = Component(
    "preference loss",
    chapter=21,
    reference=preference_loss,
    trials=[
        _trial("one pair, nothing learned yet", [-4.0], [-6.0], [[-4.0], [-6.0]], 0.5),
        _trial("one pair, the better has gained", [-3.0], [-7.0], [[-4.0], [-6.0]], 0.5),
        _trial("one pair, both have lost", [-8.0], [-7.0], [[-5.0], [-6.0]], 1.0),
        _trial("three pairs", [-3.0, -5.0, -9.0], [-4.0, -8.0, -2.0], [[-4.0, -5.5, -3.0], [-2.0, -8.0, -2.5]], 0.1),
        _trial("a pair far behind", [-400.0], [-5.0], [[-5.0], [-5.0]], 1.0),
    ],
    gradient=gradient_of("better", call=loss_tensor),
)
mistake = COMPONENT.mistake

mistake(
    "the worse answer is preferred",
    symptom="the loss falls, and the answers become worse",
    why="the two changed places, or the sign in front of the lead is lost.",
    hint="The better answer becomes likelier: does your loss fall?",
)(partial(preference_loss, lead=lambda better, worse: worse - better))
mistake(
    "the model as it was is forgotten",
    symptom="what was likely before is pushed further; short answers win, since they are likelier",
    why="the log-probabilities themselves are compared, not what each of them has gained.",
    hint="Nothing has been learned yet. What should the loss of each pair be? ln 2 is 0.693.",
)(partial(preference_loss, gain=lambda now, before: now))
mistake(
    "the log-probabilities of before are added, not subtracted",
    symptom="a loss that starts far from ln 2",
    why="log p/q is log p − log q.",
    hint="How much has an answer gained whose log-probability is what it was?",
)(partial(preference_loss, gain=lambda now, before: now + before))
mistake(
    "β stands outside the logarithm",
    symptom="β changes the length of the gradient and nothing else: a small one holds the model no looser",
    why="β · log σ(lead) in place of log σ(β · lead).",
    hint="Where in the equation is β: what does it multiply?",
)(partial(preference_loss, loss=lambda lead, beta: -beta * F.logsigmoid(lead)))
mistake(
    "β divides",
    symptom="a small β makes the loss jump, where it should make it gentle",
    why="a reward is divided by β to get the best distribution; here β goes the other way.",
    hint="The gain, times what, is a reward?",
)(partial(preference_loss, loss=lambda lead, beta: -F.logsigmoid(lead / beta)))
mistake(
    "the logarithm of a sigmoid that has become 0 is infinite",
    symptom="inf or NaN at the first pair that is far behind",
    why="σ rounds to 0 from about −104 on in float32; logsigmoid never computes it.",
    hint="Which function of torch gives log σ in one step?",
)(partial(preference_loss, loss=lambda lead, beta: -torch.sigmoid(beta * lead).log()))
mistake(
    "the pairs are added up, not averaged",
    symptom="the gradient grows with the batch; a learning rate fits one size only",
    why="a sum over the pairs, or no division by their number.",
    hint="What should the loss of the same pair, twice in a batch, be?",
)(partial(preference_loss, average=lambda losses: losses.sum()))
