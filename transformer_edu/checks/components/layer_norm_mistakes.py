"""Known mistakes in layer normalization: each calls the formula with one thing changed."""

from functools import partial

import torch
from torch import Tensor

from transformer_edu.checks.components.layer_norm import LAYER_NORM, layer_norm

mistake = LAYER_NORM.mistake
Dims = int | tuple[int, ...]


def norm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    eps: float = 1e-5,
    *,
    dim: Dims = -1,
    correction: int = 0,
    outside: float = 0,
) -> Tensor:
    """The formula, with the dimensions, the correction of the variance and a second ε outside the root to choose."""
    centred = x - x.mean(dim, keepdim=True)
    root = torch.sqrt(x.var(dim, correction=correction, keepdim=True) + eps)
    return gamma * centred / (root + outside) + beta


mistake(
    "the standard deviation is Bessel-corrected: the sum of squares is divided by d − 1, not by d",
    symptom="every output is too small, by √((d − 1) / d): 13 % at d = 4, 0.1 % at d = 512; other weights do not fit",
    why="torch's std and var divide by d − 1 unless told otherwise, to estimate a population from a sample.",
    hint="The d features are all there are, not a sample. Which argument of torch.var or torch.std says so?",
)(partial(norm, correction=1))


@mistake(
    "ε is added to the standard deviation, outside the root",
    symptom="none for tokens of ordinary size; tokens whose numbers are small come out too large",
    why="√(variance + ε) and √variance + ε differ as soon as the variance is about as small as ε.",
    hint="What stands under the root in the formula, and what under yours?",
)
def eps_outside(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, gamma, beta, 0.0, outside=eps)


@mistake(
    "the standard deviation is Bessel-corrected and ε is added outside the root",
    symptom="outputs differ from torch.nn.LayerNorm's: up to 0.14 at d = 8, 0.004 at d = 512",
    why="`(x - x.mean(-1)) / (x.std(-1) + eps)` is widely copied; it has both deviations.",
    hint="Two things: by what does x.std() divide, and what stands under the root?",
)
def bessel_and_eps_outside(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, gamma, beta, 0.0, correction=1, outside=eps)


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


@mistake(
    "mean and variance are taken over batch and positions, for each feature: this is batch normalization",
    symptom="a token's result depends on padding, on its sentence and on the rest of the batch",
    why="the dimensions (0, 1) hold the tokens; the features of one token lie along the last.",
    hint="Layer normalization needs no other token. Which dimension remains?",
)
def over_tokens(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, gamma, beta, eps, dim=tuple(range(x.dim() - 1)))


@mistake(
    "one mean and one variance are taken over everything at once",
    symptom="a token's result depends on all the others; single tokens keep a mean and a scale of their own",
    why="x.mean() without a dimension averages over the whole tensor.",
    hint="How many means should two tokens have? How many does your function compute?",
)
def over_everything(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, gamma, beta, eps, dim=tuple(range(x.dim())))


mistake(
    "the dimension is counted from the front (dim=2), not from the back",
    symptom="works for (batch, seq, d), `Dimension out of range` for anything else",
    why="x may have any number of leading dimensions.",
    hint="How do you name the last dimension without knowing how many there are?",
)(partial(norm, dim=2))


@mistake(
    "the mean is not subtracted, and x is divided by the root of its mean square: this is RMS normalization",
    symptom="outputs keep a mean other than zero",
    why="RMS normalization leaves out the centring; layer normalization does not.",
    hint="What should the mean of a normalized token be? Compute yours.",
)
def root_mean_square(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return gamma * x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) + beta


@mistake(
    "x is divided by its standard deviation, but the mean is not subtracted from it",
    symptom="outputs keep a mean other than zero, and a token of equal features becomes very large",
    why="the centred x is used for the variance only.",
    hint="What stands above the fraction bar of the formula?",
)
def not_centred(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return gamma * x / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps) + beta


@mistake(
    "it is divided by the variance, not by its root",
    symptom="outputs whose scale is 1 / (scale of the input): large tokens become small, small ones large",
    why="variance has the unit of x²; only its root has the unit of x.",
    hint="What should the standard deviation of a normalized token be? Compute yours.",
)
def not_rooted(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + eps) + beta


@mistake(
    "the mean has lost its dimension (no keepdim)",
    symptom="a shape error; with as many tokens as features, silently the means of other tokens",
    why="(batch, seq, d) minus (batch, seq) lines up from the right: each feature meets the mean of another token.",
    hint="Which shape must the means have, so that each is subtracted from all features of its own token?",
)
def without_keepdim(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return gamma * (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + eps) + beta


@mistake(
    "γ is not used",
    symptom="the layer cannot learn the scale of a feature",
    why="the normalized x is returned without the multiplication.",
    hint="Which argument of your function does the result not depend on?",
)
def gamma_forgotten(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, torch.ones_like(gamma), beta, eps)


@mistake(
    "β is not used",
    symptom="the layer cannot shift a feature away from zero",
    why="the scaled x is returned without the addition.",
    hint="Which argument of your function does the result not depend on?",
)
def beta_forgotten(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, gamma, torch.zeros_like(beta), eps)


@mistake(
    "γ and β have changed places: γ is added and β multiplies",
    symptom="with their starting values, γ = 1 and β = 0, every output is 1",
    why="γ is the scale, β the shift.",
    hint="γ begins as 1 and β as 0. Which of them may multiply?",
)
def exchanged(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, beta, gamma, eps)


@mistake(
    "ε is missing",
    symptom="NaN for a token whose features are all equal",
    why="its variance is 0, and 0 / 0 is not a number.",
    hint="What does your root give when all features are equal?",
)
def eps_missing(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return norm(x, gamma, beta, 0.0)


@mistake(
    "the argument eps is ignored: ε is always 1e-5",
    symptom="a model that was trained with another ε gives slightly other results",
    why="the number is written into the formula, or a library's default is used.",
    hint="Which argument of your function does the result not depend on?",
)
def eps_ignored(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    return layer_norm(x, gamma, beta)


@mistake(
    "x is changed in place",
    symptom="the bypass around the layer carries the centred x, not x; autograd may complain",
    why="`x -= ...` writes into the caller's tensor.",
    hint="`x = x - ...` and `x -= ...` look alike. Which of them makes a new tensor?",
)
def changed_in_place(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    x -= x.mean(-1, keepdim=True)
    return layer_norm(x, gamma, beta, eps)
