"""Checks batch normalization over the real tokens only."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, inputs_afterwards, output


def check_masked_batch_norm(fn: Callable[..., Any]) -> None:
    """Check fn(x, real, eps=1e-5) with x (batch, seq, features) and real (batch, seq), boolean, True = a real token.

    Each feature gets one mean and one biased variance over all real tokens of the batch, as in training; there is no
    γ and no β. Padding comes out as zeros.
    """
    COMPONENT.check(fn=fn)


def masked_batch_norm(x: Tensor, real: Tensor, eps: float = 1e-5) -> Tensor:
    """(x − mean) / √(variance + ε), one mean and variance for each feature, over the real tokens."""
    tokens = x[real]  # (real tokens, features)
    result = torch.zeros_like(x)
    result[real] = (tokens - tokens.mean(0)) / torch.sqrt(tokens.var(0, correction=0) + eps)
    return result


def _given(rows: list[Any], lengths: list[int], scale: float = 1.0, **more: Any) -> dict[str, Any]:
    x = torch.tensor(rows) * scale
    return {"x": x, "real": torch.arange(x.shape[1]) < torch.tensor(lengths)[:, None], **more}


FOUR_TOKENS = [[[1.0, 10], [7, 20], [7, 20], [9, 10]]]  # features of mean 6 and 15, variance 9 and 25
FOUR_IN_TWO = [FOUR_TOKENS[0][:2], FOUR_TOKENS[0][2:]]
FOUR_PADDED = [[[1.0, 10], [7, 20], [7, 20]], [[9.0, 10], [50, 60], [40, 80]]]

COMPONENT = Component(
    "masked batch normalization",
    chapter=5,
    reference=masked_batch_norm,
    trials=[
        Trial("one sentence of four tokens, no padding", _given(FOUR_TOKENS, [4]), output),
        Trial("the same four tokens in two sentences", _given(FOUR_IN_TWO, [2, 2]), output),
        Trial("the same four tokens, two places are padding", _given(FOUR_PADDED, [3, 1]), output),
        Trial("other places are padding", _given(FOUR_PADDED, [2, 3]), output),
        Trial(
            "small numbers, with variances about as small as eps", _given(FOUR_PADDED, [3, 1], 1e-3, eps=1e-5), output
        ),
        Trial("an eps that can be seen", _given(FOUR_TOKENS, [4], eps=7.0), output),
        Trial("the inputs afterwards", _given(FOUR_PADDED, [3, 1]), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
mistake = COMPONENT.mistake


def norm(
    x: Tensor,
    real: Tensor,
    eps: float = 1e-5,
    *,
    counted: bool = False,
    zeroed: bool = True,
    dims: tuple[int, ...] = (0, 1),
    correction: int = 0,
    outside: bool = False,
) -> Tensor:
    """The formula with weights 1 and 0 in place of a selection.

    counted: padding counts as if it were real; zeroed: padding comes out as zeros; dims: what shares a mean;
    outside: ε is added to the standard deviation.
    """
    weight = real[..., None].to(x.dtype).expand_as(x)
    weight = torch.ones_like(weight) if counted else weight
    count = weight.sum(dims, keepdim=True)
    mean = (weight * x).sum(dims, keepdim=True) / count
    variance = (weight * (x - mean) ** 2).sum(dims, keepdim=True) / (count - correction)
    root = torch.sqrt(variance) + eps if outside else torch.sqrt(variance + eps)
    return ((x - mean) / root).masked_fill(~real[..., None] & zeroed, 0.0)


mistake(
    "`real` is not used: padding is counted, and comes out as something",
    symptom="a sentence's result changes with the amount of padding around it",
    why="this is plain batch normalization over all positions of the batch.",
    hint="Which argument of your function does the result not depend on?",
)(partial(norm, counted=True, zeroed=False))
mistake(
    "padding is counted in mean and variance",
    symptom="a sentence's result changes with the amount of padding around it",
    why="the statistics are taken from all positions; `real` is used for the output only.",
    hint="Which tokens may have a say in the mean?",
)(partial(norm, counted=True))
mistake(
    "padding is normalized like a real token; it should come out as zeros",
    symptom="the next layer finds numbers where no token is",
    why="the statistics are right, and then applied to every position.",
    hint="The right numbers stand at the real tokens. What should stand at the others?",
)(partial(norm, zeroed=False))
mistake(
    "the mean runs over the features of each token: this is layer normalization",
    symptom="features of different units are mixed, and the rest of the batch plays no part",
    why="the last dimension holds the features; batch normalization gives each of them a mean of its own.",
    hint="How many means should two features have? How many numbers share one of yours?",
)(partial(norm, dims=(2,)))
mistake(
    "each sentence gets statistics of its own: this is instance normalization",
    symptom="two sentences that differ in scale come out alike; a sentence of one token becomes zeros",
    why="the mean runs over positions only.",
    hint="Do two sentences of a batch share their mean? In batch normalization they do.",
)(partial(norm, dims=(1,)))
mistake(
    "each position gets statistics of its own",
    symptom="with one sentence everything becomes zeros; long sentences have their last tokens to themselves",
    why="the mean runs over the sentences only (dim 0).",
    hint="Do the first and the second token share their mean? In batch normalization they do.",
)(partial(norm, dims=(0,)))
mistake(
    "all features share one mean and one variance",
    symptom="features that differ in scale still differ afterwards",
    why="the mean runs over everything at once, features too.",
    hint="How many means should two features have?",
)(partial(norm, dims=(0, 1, 2)))
mistake(
    "the variance is Bessel-corrected: divided by the number of tokens − 1",
    symptom="outputs are too small in small batches, and NaN when there is one real token",
    why="torch's var and std do so unless told otherwise; normalization uses the biased variance.",
    hint="Which argument of torch.var says by what it divides?",
)(partial(norm, correction=1))
mistake(
    "ε is added to the standard deviation, outside the root",
    symptom="none for numbers of ordinary size; small numbers come out too large",
    why="√(variance + ε) and √variance + ε differ as soon as the variance is about as small as ε.",
    hint="What stands under the root in the formula, and what under yours?",
)(partial(norm, outside=True))
mistake(
    "the variance is Bessel-corrected and ε is added outside the root",
    symptom="outputs are too small in small batches, and small numbers come out too large",
    why="`(x - x.mean(0)) / (x.std(0) + eps)` has both deviations.",
    hint="Two things: by what does std() divide, and what stands under the root?",
)(partial(norm, correction=1, outside=True))


@mistake(
    "the sums over real tokens are divided by the number of all positions",
    symptom="the more padding, the smaller mean and variance become",
    why="padding is multiplied by 0 in the sum, but still counted below the fraction bar.",
    hint="How many real tokens are there? Where does this number come into your mean?",
)
def divided_by_all(x: Tensor, real: Tensor, eps: float = 1e-5) -> Tensor:
    weight, count = real[..., None].to(x.dtype), real.numel()
    mean = (weight * x).sum((0, 1)) / count
    variance = (weight * (x - mean) ** 2).sum((0, 1)) / count
    return weight * (x - mean) / torch.sqrt(variance + eps)


mistake(
    "padding is set to zero, and these zeros are counted",
    symptom="the more padding, the nearer the mean comes to zero",
    why="a zero is a number like any other: it has a part in mean and variance.",
    hint="Does setting padding to zero take it out of the mean?",
)(lambda x, real, eps=1e-5: norm(x * real[..., None], real, eps, counted=True))


@mistake(
    "the variance is not centred: it is the mean square",
    symptom="features far from zero come out too small",
    why="the squares are taken of x, not of x − mean.",
    hint="The variance of three equal numbers is 0. What does yours give?",
)
def mean_square(x: Tensor, real: Tensor, eps: float = 1e-5) -> Tensor:
    tokens, result = x[real], torch.zeros_like(x)
    result[real] = (tokens - tokens.mean(0)) / torch.sqrt((tokens**2).mean(0) + eps)
    return result


mistake(
    "the padding is cut out: the result has one row for each real token, and no batch",
    symptom="the next layer complains about the shape",
    why="x[real] is (real tokens, features); which sentence a row came from is lost.",
    hint="The result must have the shape of x. Where in it do your rows belong?",
)(lambda x, real, eps=1e-5: masked_batch_norm(x, real, eps)[real])
mistake(
    "the argument eps is ignored: ε is always 1e-5",
    symptom="a model that was trained with another ε gives slightly other results",
    why="the number is written into the formula, or a library's default is used.",
    hint="Which argument of your function does the result not depend on?",
)(lambda x, real, eps=1e-5: masked_batch_norm(x, real))


@mistake(
    "x is changed in place",
    symptom="whoever uses x again finds other numbers in it; autograd may complain",
    why="`x[real] = ...` or `x -= ...` writes into the caller's tensor.",
    hint="Into which tensor does your function write? Make a new one.",
)
def changed_in_place(x: Tensor, real: Tensor, eps: float = 1e-5) -> Tensor:
    x.copy_(masked_batch_norm(x, real, eps))
    return x
