"""Checks layer normalization, written as a function."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, inputs_afterwards, output


def check_layer_norm(layer_norm: Callable[..., Any]) -> None:
    """Check layer_norm(x, gamma, beta, eps=1e-5) with x (..., d), gamma and beta (d,) -> (..., d).

    Mean and variance are taken over the last dimension, the variance is the biased one (divide by d), and eps stands
    under the root.
    """
    COMPONENT.check(layer_norm=layer_norm)


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """γ · (x − mean) / √(variance + ε) + β, over the last dimension."""
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return gamma * centred / torch.sqrt(variance + eps) + beta


def _given(rows: list[Any], scale: float = 1.0, **more: Any) -> dict[str, Any]:
    x = torch.tensor(rows) * scale
    d = x.shape[-1]
    return {"x": x, "gamma": torch.ones(d), "beta": torch.zeros(d), **more}


TOKEN = [1.0, 7, 7, 9]  # mean 6, variance 9
OTHER = [2.0, 2, 6, 6]  # mean 4, variance 4
GAMMA, BETA = torch.tensor([1.0, 2, 3, 4]), torch.tensor([10.0, 20, 30, 40])
SENTENCES = [[TOKEN, OTHER], [[0.0, 5, 1, 2], [-3.0, 0, 8, 3]]]
SQUARE = [[[1.0, 2, 6], [4, 0, 5], [7, 8, 3]]]

COMPONENT = Component(
    "layer normalization",
    chapter=5,
    reference=layer_norm,
    trials=[
        Trial("one token of four features, γ = 1, β = 0", _given([[TOKEN]]), output),
        Trial("three tokens of three features", _given(SQUARE), output),
        Trial("two sentences of two tokens", _given(SENTENCES), output),
        Trial("γ and β", _given([[TOKEN]], gamma=GAMMA, beta=BETA), output),
        Trial(
            "a token of small numbers, with a variance about as small as eps", _given([[TOKEN]], 1e-3, eps=1e-5), output
        ),
        Trial("an eps that can be seen", _given([[TOKEN]], eps=7.0), output),
        Trial("a token whose features are all equal", _given([[[1.0, 1, 1, 1]]]), output, tolerance=1e-2),
        Trial("two tokens without a batch dimension", _given([TOKEN, OTHER]), output),
        Trial("the inputs afterwards", _given([[TOKEN]], gamma=GAMMA, beta=BETA), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
mistake = COMPONENT.mistake


def norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    eps: float = 1e-5,
    *,
    dim: int | tuple[int, ...] = -1,
    centre: Callable[[Tensor, Tensor], Tensor] = torch.sub,
    correction: int = 0,
    root: Callable[[Tensor], Tensor] = torch.sqrt,
    outside: bool = False,
    scale: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda x, gamma, beta: gamma * x + beta,
) -> Tensor:
    """The formula, with each of its steps to choose; outside: ε is added to the standard deviation."""
    variance = x.var(dim, correction=correction, keepdim=True)
    divisor = root(variance) + eps if outside else root(variance + eps)
    return scale(centre(x, x.mean(dim, keepdim=True)) / divisor, gamma, beta)


mistake(
    "the standard deviation is Bessel-corrected: the sum of squares is divided by d − 1, not by d",
    symptom="every output is too small, by √((d − 1) / d): 13 % at d = 4, 0.1 % at d = 512; other weights do not fit",
    why="torch's std and var divide by d − 1 unless told otherwise, to estimate a population from a sample.",
    hint="The d features are all there are, not a sample. Which argument of torch.var or torch.std says so?",
)(partial(norm, correction=1))
mistake(
    "ε is added to the standard deviation, outside the root",
    symptom="none for tokens of ordinary size; tokens whose numbers are small come out too large",
    why="√(variance + ε) and √variance + ε differ as soon as the variance is about as small as ε.",
    hint="What stands under the root in the formula, and what under yours?",
)(partial(norm, correction=0, outside=True))
mistake(
    "the standard deviation is Bessel-corrected and ε is added outside the root",
    symptom="outputs are smaller than torch.nn.LayerNorm's, by 6 % at d = 8 and 0.1 % at d = 512",
    why="`(x - x.mean(-1)) / (x.std(-1) + eps)` is widely copied; it has both deviations.",
    hint="Two things: by what does x.std() divide, and what stands under the root?",
)(partial(norm, correction=1, outside=True))
mistake(
    "mean and variance are taken over the batch (dim 0)",
    symptom="a sentence alone becomes zeros, and a sentence's result depends on its neighbours in the batch",
    why="dim=0 of (batch, seq, d) runs over sentences.",
    hint="Which numbers belong to one token? Along which dimension do they lie?",
)(partial(norm, dim=0))
mistake(
    "mean and variance are taken over the positions (dim 1)",
    symptom="a token's result depends on the other tokens, also on later ones: a decoder sees the future",
    why="dim=1 of (batch, seq, d) runs over tokens.",
    hint="Which numbers belong to one token? Along which dimension do they lie?",
)(partial(norm, dim=1))
mistake(
    "mean and variance are taken over batch and positions, for each feature: this is batch normalization",
    symptom="a token's result depends on padding, on its sentence and on the rest of the batch",
    why="the dimensions (0, 1) hold the tokens; the features of one token lie along the last.",
    hint="Layer normalization needs no other token. Which dimension remains?",
)(lambda x, gamma, beta, eps=1e-5: norm(x, gamma, beta, eps, dim=tuple(range(x.dim() - 1))))
mistake(
    "one mean and one variance are taken over everything at once",
    symptom="a token's result depends on all the others; single tokens keep a mean and a scale of their own",
    why="x.mean() without a dimension averages over the whole tensor.",
    hint="How many means should two tokens have? How many does your function compute?",
)(lambda x, gamma, beta, eps=1e-5: norm(x, gamma, beta, eps, dim=tuple(range(x.dim()))))
mistake(
    "the dimension is counted from the front (dim=2), not from the back",
    symptom="works for (batch, seq, d), `Dimension out of range` for anything else",
    why="x may have any number of leading dimensions.",
    hint="How do you name the last dimension without knowing how many there are?",
)(partial(norm, dim=2))
mistake(
    "the mean is not subtracted, and x is divided by the root of its mean square: this is RMS normalization",
    symptom="outputs keep a mean other than zero",
    why="RMS normalization leaves out the centring; layer normalization does not.",
    hint="What should the mean of a normalized token be? Compute yours.",
)(lambda x, gamma, beta, eps=1e-5: gamma * x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) + beta)
mistake(
    "x is divided by its standard deviation, but the mean is not subtracted from it",
    symptom="outputs keep a mean other than zero, and a token of equal features becomes very large",
    why="the centred x is used for the variance only.",
    hint="What stands above the fraction bar of the formula?",
)(partial(norm, centre=lambda x, mean: x))
mistake(
    "it is divided by the variance, not by its root",
    symptom="outputs whose scale is 1 / (scale of the input): large tokens become small, small ones large",
    why="variance has the unit of x²; only its root has the unit of x.",
    hint="What should the standard deviation of a normalized token be? Compute yours.",
)(partial(norm, root=lambda variance: variance))
mistake(
    "the mean has lost its dimension (no keepdim)",
    symptom="a shape error; with as many tokens as features, silently the means of other tokens",
    why="(batch, seq, d) minus (batch, seq) lines up from the right: each feature meets the mean of another token.",
    hint="Which shape must the means have, so that each is subtracted from all features of its own token?",
)(lambda x, gamma, beta, eps=1e-5: gamma * (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + eps) + beta)
mistake(
    "γ is not used",
    symptom="the layer cannot learn the scale of a feature",
    why="the normalized x is returned without the multiplication.",
    hint="Which argument of your function does the result not depend on?",
)(partial(norm, scale=lambda x, gamma, beta: x + beta))
mistake(
    "β is not used",
    symptom="the layer cannot shift a feature away from zero",
    why="the scaled x is returned without the addition.",
    hint="Which argument of your function does the result not depend on?",
)(partial(norm, scale=lambda x, gamma, beta: gamma * x))
mistake(
    "γ and β have changed places: γ is added and β multiplies",
    symptom="with their starting values, γ = 1 and β = 0, every output is 1",
    why="γ is the scale, β the shift.",
    hint="γ begins as 1 and β as 0. Which of them may multiply?",
)(partial(norm, scale=lambda x, gamma, beta: beta * x + gamma))
mistake(
    "ε is missing",
    symptom="NaN for a token whose features are all equal",
    why="its variance is 0, and 0 / 0 is not a number.",
    hint="What does your root give when all features are equal?",
)(lambda x, gamma, beta, eps=1e-5: norm(x, gamma, beta, 0.0))
mistake(
    "the argument eps is ignored: ε is always 1e-5",
    symptom="a model that was trained with another ε gives slightly other results",
    why="the number is written into the formula, or a library's default is used.",
    hint="Which argument of your function does the result not depend on?",
)(lambda x, gamma, beta, eps=1e-5: layer_norm(x, gamma, beta))
mistake(
    "x is changed in place",
    symptom="the residual connection around the layer carries the centred x, not x; autograd may complain",
    why="`x -= ...` writes into the caller's tensor.",
    hint="`x = x - ...` and `x -= ...` look alike. Which of them makes a new tensor?",
)(lambda x, gamma, beta, eps=1e-5: layer_norm(x.sub_(x.mean(-1, keepdim=True)), gamma, beta, eps))
