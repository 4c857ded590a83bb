"""Checks cross-entropy with label smoothing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, loss_tensor, loss_value
from transformer_edu.training.loss import label_smoothing


def check_label_smoothing(fn: Callable[[Tensor, Tensor, int, float], Tensor]) -> None:
    """Check fn(logits, target, pad_id, smoothing) -> mean loss in nats over the tokens that are not padding.

    logits are (batch, seq, vocab), target is (batch, seq); the mass is spread as torch's cross_entropy does it. The
    loss is a tensor with one entry, at which .backward() can start.
    """
    COMPONENT.check(fn=fn)


def _trial(title: str, logits: list[Any], target: list[list[int]], smoothing: float, pad_id: int = 0) -> Trial:
    given = {"logits": torch.tensor(logits), "target": torch.tensor(target), "pad_id": pad_id, "smoothing": smoothing}
    return Trial(title, given, loss_value)


ONE = [0.0, 1.0, 3.0, 0.5]  # the scores of four words; word 0 is padding
TWO = [1.0, 0.0, 0.0, 2.0]
LONG, SHORT = [ONE, TWO, TWO], [TWO, ONE, ONE]

COMPONENT = Component(
    "label smoothing",
    chapter=13,
    reference=label_smoothing,
    trials=[
        _trial("one token, no smoothing", [[ONE]], [[2]], 0.0),
        _trial("one token, smoothing 0.2", [[ONE]], [[2]], 0.2),
        _trial("two tokens, no smoothing", [[ONE, TWO]], [[2, 3]], 0.0),
        _trial("a real token and a padding token", [[ONE, TWO]], [[2, 0]], 0.0),
        _trial("the same with smoothing", [[ONE, TWO]], [[2, 0]], 0.2),
        _trial("two sentences of different length", [LONG, SHORT], [[2, 3, 1], [3, 0, 0]], 0.1),
        _trial("another padding id", [[ONE, TWO]], [[2, 3]], 0.1, pad_id=3),
        _trial("one score far above the others", [[[0.0, 0.0, 1000.0, 0.0]]], [[2]], 0.2),
    ],
    gradient=gradient_of("logits", call=loss_tensor),
)
mistake = COMPONENT.mistake


def loss(
    logits: Tensor,
    target: Tensor,
    pad_id: int,
    smoothing: float,
    *,
    log: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1),
    share: Callable[[float, int], float] = lambda smoothing, vocab: smoothing,
    kept: Callable[[float], float] = lambda share: 1 - share,
    average: Callable[[Tensor, Tensor], Tensor] = lambda losses, real: losses[real].mean(),
) -> Tensor:
    """(1 − ε) · (−log p[target]) + ε · mean of all −log p, averaged over the real tokens; a mistake replaces a part."""
    log_probs, spread = log(logits), share(smoothing, logits.shape[-1])
    of_target = log_probs.gather(-1, target[..., None])[..., 0]
    return average(-kept(spread) * of_target - spread * log_probs.mean(-1), target != pad_id)


def spread_by(share: Callable[[Tensor, Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """A loss in which each word of the vocabulary gets the part share(words, target, pad_id) of ε."""

    def wrong(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
        parts = share(torch.arange(logits.shape[-1]), target[..., None], pad_id) * smoothing
        smooth = (parts * logits.log_softmax(-1)).sum(-1)[target != pad_id].mean()
        return (1 - smoothing) * loss(logits, target, pad_id, 0.0) - smooth

    return wrong


mistake(
    "padding counts: its loss is not left out",
    symptom="the loss depends on the amount of padding, and the model learns to say <pad>",
    why="the mean goes over all positions.",
    hint="At which places does the target hold nothing to be learned?",
)(partial(loss, average=lambda losses, real: losses.mean()))
mistake(
    "padding is left out of the sum, but counted in the divisor",
    symptom="a loss that looks better the more padding a batch has",
    why="the sum over the real tokens is divided by the number of all positions.",
    hint="How many terms does your sum have? By how many do you divide?",
)(partial(loss, average=lambda losses, real: losses[real].sum() / real.numel()))
mistake(
    "the losses are added up, not averaged",
    symptom="a loss, and gradients, that grow with the batch",
    why="the sum lacks its division by the number of real tokens.",
    hint="Two equal tokens should have the loss of one.",
)(partial(loss, average=lambda losses, real: losses[real].sum()))
mistake(
    "it is the mean of the sentences' means",
    symptom="words of short sentences weigh more than words of long ones",
    why="the mean is taken within each sentence first.",
    hint="How much does each word of the longer sentence count in your loss, and of the shorter one?",
)(partial(loss, average=lambda losses, real: ((losses * real).sum(1) / real.sum(1)).mean()))
mistake(
    "the smoothing is ignored",
    symptom="plain cross-entropy, whatever `smoothing` is",
    why="the argument never reaches the formula.",
    hint="Which argument does your function never use?",
)(partial(loss, share=lambda smoothing, vocab: 0.0))
mistake(
    "the smoothing mass is spread over the other V - 1 words, not over all V",
    symptom="a slightly higher loss than torch's for the same model: two conventions, not to be mixed",
    why="here, as in torch.nn.functional.cross_entropy, the wanted word gets its share of ε / V as well.",
    hint="What probability does the wanted word have in your softened target: 1 - ε, or a little more?",
)(partial(loss, share=lambda smoothing, vocab: smoothing * vocab / (vocab - 1)))
mistake(
    "the padding word gets no share of the smoothing mass",
    symptom="a slightly different loss from torch's for the same model: another convention",
    why="here, as in torch.nn.functional.cross_entropy, the mass is spread over the whole vocabulary.",
    hint="Which columns of the logits does your mean go over?",
)(spread_by(lambda words, target, pad_id: (words != pad_id) / (len(words) - 1)))
mistake(
    "the smoothing mass is spread over the words other than the wanted one and the padding (V - 2)",
    symptom="a slightly different loss from torch's for the same model: another widely copied convention",
    why="here, as in torch.nn.functional.cross_entropy, the mass is spread over the whole vocabulary.",
    hint="Over how many words is ε spread in your version? Here it is all V.",
)(spread_by(lambda words, target, pad_id: ((words != pad_id) & (words != target)) / (len(words) - 2)))
mistake(
    "the shares are exchanged: ε for the wanted word, 1 - ε for all",
    symptom="a loss near log(vocabulary size) that no training lowers",
    why="the factors ε and 1 - ε stand at each other's term.",
    hint="With ε = 0, which term must remain?",
)(partial(loss, share=lambda smoothing, vocab: 1 - smoothing))
mistake(
    "the smoothing term is added on top: the wanted word keeps its full weight",
    symptom="a loss that is too high by ε times the cross-entropy: the softened target sums to 1 + ε",
    why="what the other words get must be taken from the wanted one.",
    hint="Add up your softened target over the vocabulary. Is it 1?",
)(partial(loss, kept=lambda smoothing: 1.0))
mistake(
    "the logarithm of a probability that has become 0: the loss is infinite",
    symptom="inf or NaN as soon as the model is very sure",
    why="softmax first and log afterwards: softmax rounds small probabilities to 0, and log(0) is -inf.",
    hint="Is there a function that computes the logarithm of the softmax in one go?",
)(partial(loss, log=lambda logits: logits.softmax(-1).log()))
mistake(
    "softmax is applied twice: cross_entropy is given probabilities",
    symptom="the loss stays near log(vocabulary size) and learns slowly",
    why="torch's cross_entropy takes logits and applies log-softmax itself.",
    hint="What does torch's cross_entropy say about its input?",
)(partial(loss, log=lambda logits: logits.softmax(-1).log_softmax(-1)))
mistake(
    "there is no logarithm: minus the probability is taken",
    symptom="a 'loss' between -1 and 0",
    why="nll_loss, or a gather of your own, expects log-probabilities; it got probabilities.",
    hint="Cross-entropy is minus the ... of the probability of the wanted word.",
)(partial(loss, log=lambda logits: logits.softmax(-1)))
mistake(
    "there is no softmax: the raw score of the wanted word is used",
    symptom="a 'loss' without a lower bound: it falls for ever while the model learns nothing",
    why="logits are not log-probabilities until they are normalized.",
    hint="What turns logits into log-probabilities?",
)(partial(loss, log=lambda logits: logits))
mistake(
    "the sign is lost: the loss is negative",
    symptom="training makes the model worse",
    why="log-probabilities are negative; the loss is minus their mean.",
    hint="Is your loss 0 for a perfect model, and positive for every other?",
)(lambda logits, target, pad_id, smoothing: -label_smoothing(logits, target, pad_id, smoothing))
mistake(
    "the padding id is taken to be 0",
    symptom="works until a tokenizer with another padding id comes along",
    why="the mask compares with 0, and pad_id is not used.",
    hint="Which argument does your function never use?",
)(lambda logits, target, pad_id, smoothing: label_smoothing(logits, target, 0, smoothing))
