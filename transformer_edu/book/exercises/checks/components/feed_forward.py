"""Checks the position-wise feed-forward network."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, inputs_afterwards, output


def check_feed_forward(fn: Callable[..., Any]) -> None:
    """Check fn(x, w1, b1, w2, b2), the paper's equation 2: max(0, x w1 + b1) w2 + b2, for each position alone.

    x is (batch, seq, d_model), w1 (d_model, d_ff), b1 (d_ff,), w2 (d_ff, d_model), b2 (d_model,).
    """
    COMPONENT.check(fn=fn)


def feed_forward(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """max(0, x W₁ + b₁) W₂ + b₂."""
    return torch.relu(x @ w1 + b1) @ w2 + b2


def _given(rows: list[Any], **weights: list[Any]) -> dict[str, Any]:
    return {"x": torch.tensor(rows)} | {name: torch.tensor(weight) for name, weight in weights.items()}


SQUARE: dict[str, list[Any]] = {  # d_ff = d_model, which it never is in practice: the smallest example
    "w1": [[1.0, 2], [0, 3]],
    "b1": [1.0, -1],
    "w2": [[2.0, -3], [1, 4]],
    "b2": [-10.0, 20],
}
WIDE: dict[str, list[Any]] = {
    "w1": [[1.0, 0, -1, 2], [0, 1, 1, -1]],
    "b1": [0.0, 1, 0, -2],
    "w2": [[1.0, 0], [0, 1], [2, 1], [1, -3]],
    "b2": [-10.0, 20],
}
TWO_TOKENS = [[1.0, -2], [-3.0, 1]]

COMPONENT = Component(
    "feed-forward network",
    chapter=8,
    reference=feed_forward,
    trials=[
        Trial("one token, d_model 2, d_ff 2", _given([TWO_TOKENS[:1]], **SQUARE), output),
        Trial("one token, d_model 2, d_ff 4", _given([TWO_TOKENS[1:]], **WIDE), output),
        Trial("two tokens", _given([TWO_TOKENS], **WIDE), output),
        Trial("two sentences", _given([TWO_TOKENS, [[0.0, 4], [2, 2]]], **WIDE), output),
        Trial("a token of large numbers", _given([[[30.0, -900]]], **WIDE), output),
        Trial("the inputs afterwards", _given([TWO_TOKENS], **WIDE), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
mistake = COMPONENT.mistake


def nothing(x: Tensor) -> Tensor:
    """What stands in a place where no function belongs."""
    return x


def network(
    x: Tensor,
    w1: Tensor,
    b1: Tensor,
    w2: Tensor,
    b2: Tensor,
    *,
    before: Callable[[Tensor], Tensor] = nothing,
    inside: Callable[[Tensor], Tensor] = torch.relu,
    after: Callable[[Tensor], Tensor] = nothing,
) -> Tensor:
    """The formula, with a function before the first matrix, between the two, and after the second."""
    return after(inside(before(x) @ w1 + b1) @ w2 + b2)


def mixed(hidden: Tensor) -> Tensor:
    """Each token gets the mean of all tokens of its sentence."""
    return hidden.mean(1, keepdim=True).expand_as(hidden)


mistake(
    "there is no ReLU",
    symptom="no better than one matrix: the loss stays higher, however large d_ff is",
    why="without something non-linear in between, two matrices are one: (x w1) w2 = x (w1 w2).",
    hint="What should happen to the negative entries of x w1 + b1?",
)(partial(network, inside=nothing))
mistake(
    "the ReLU comes after the second matrix, not between the two",
    symptom="no output is ever negative; the layer can only add to the residual stream",
    why="max(0, …) in equation 2 closes before w2.",
    hint="Which part of the formula stands inside max(0, …)?",
)(partial(network, inside=nothing, after=torch.relu))
mistake(
    "there is a second ReLU, after the second matrix",
    symptom="no output is ever negative; the layer can only add to the residual stream",
    why="equation 2 has one max(0, …), and w2 and b2 stand outside it.",
    hint="May an output of the formula be negative?",
)(partial(network, after=torch.relu))
mistake(
    "the ReLU comes before the first matrix",
    symptom="the negative half of every incoming vector is lost",
    why="max(0, …) in equation 2 holds x w1 + b1, not x.",
    hint="Which part of the formula stands inside max(0, …)?",
)(partial(network, before=torch.relu, inside=nothing))
mistake(
    "GELU stands in the place of ReLU",
    symptom="small differences everywhere; weights trained with ReLU do not fit",
    why="many later models use GELU; the paper's equation 2 is max(0, …).",
    hint="What is max(0, −1)? What does your function give there?",
)(partial(network, inside=F.gelu))
mistake(
    "the absolute value stands in the place of ReLU",
    symptom="an entry counts as much when it is −2 as when it is 2",
    why="max(0, v) makes negative entries 0; |v| turns them over.",
    hint="What is max(0, −1)? What does your function give there?",
)(partial(network, inside=torch.abs))
mistake(
    "negative entries are kept in part (leaky ReLU)",
    symptom="small differences wherever an inner entry is negative",
    why="leaky ReLU multiplies negative entries by 0.01; ReLU makes them 0.",
    hint="What is max(0, −1)? What does your function give there?",
)(partial(network, inside=F.leaky_relu))
mistake(
    "large entries are cut off (ReLU6)",
    symptom="none at first; an inner entry that grows beyond 6 gets no gradient, and stays where it is",
    why="ReLU6 is min(max(0, v), 6), made for small fixed-point numbers; the paper's equation 2 has no upper limit.",
    hint="What is max(0, 30)? What does your function give there?",
)(partial(network, inside=F.relu6))
mistake(
    "a softmax over the inner features stands in the place of ReLU",
    symptom="the inner entries of a token compete: they add up to 1, whatever the input",
    why="softmax belongs to attention; equation 2 has max(0, …), for each entry alone.",
    hint="Does one inner entry depend on the others in the formula?",
)(partial(network, inside=partial(torch.softmax, dim=-1)))
mistake(
    "a softmax over the positions stands in the place of ReLU",
    symptom="a token's result depends on the other tokens, also on later ones: a decoder sees the future",
    why="the softmax runs over dim 1, the tokens. The network works on each position alone.",
    hint="Change the second token. May the first one's result change?",
)(partial(network, inside=partial(torch.softmax, dim=1)))
mistake(
    "the positions are mixed: every token gets the mean of all tokens",
    symptom="all tokens of a sentence come out the same, and a decoder sees the future",
    why="an average over dim 1 joins the tokens. The network works on each position alone.",
    hint="Change the second token. May the first one's result change?",
)(lambda x, w1, b1, w2, b2: network(x, w1, b1, w2, b2, before=mixed))
mistake(
    "the inner vectors of all positions are averaged",
    symptom="all tokens of a sentence come out the same, and a decoder sees the future",
    why="an average over dim 1 after the ReLU joins the tokens. The network works on each position alone.",
    hint="Change the second token. May the first one's result change?",
)(lambda x, w1, b1, w2, b2: network(x, w1, b1, w2, b2, inside=lambda hidden: mixed(torch.relu(hidden))))
mistake(
    "b1 is not added",
    symptom="every inner feature switches on at the same place, 0; the loss stays a little higher",
    why="x w1 goes into the ReLU as it is.",
    hint="Which argument of your function does the result not depend on?",
)(lambda x, w1, b1, w2, b2: feed_forward(x, w1, torch.zeros_like(b1), w2, b2))
mistake(
    "b2 is not added",
    symptom="a token whose inner entries are all 0 comes out as zeros",
    why="the second product is returned as it is.",
    hint="Which argument of your function does the result not depend on?",
)(lambda x, w1, b1, w2, b2: feed_forward(x, w1, b1, w2, torch.zeros_like(b2)))
mistake(
    "b1 is added after the ReLU, not before it",
    symptom="the bias can no longer switch an inner feature on or off",
    why="max(0, …) in equation 2 holds x w1 + b1, not x w1 alone.",
    hint="Which part of the formula stands inside max(0, …)?",
)(lambda x, w1, b1, w2, b2: (torch.relu(x @ w1) + b1) @ w2 + b2)
mistake(
    "x is added to the result",
    symptom="with the layer's own residual connection, x is added twice",
    why="the residual connection is a part of its own, around this network; the formula does not hold it.",
    hint="How often does x appear in equation 2?",
)(lambda x, w1, b1, w2, b2: x + feed_forward(x, w1, b1, w2, b2))
mistake(
    "the matrices are transposed",
    symptom="a shape error; where d_ff = d_model, silently another network",
    why="F.linear(x, w) computes x wᵀ: nn.Linear keeps its weight as (out, in). Here w1 is (d_model, d_ff).",
    hint="x has d_model columns. Which dimension of w1 must they meet?",
)(lambda x, w1, b1, w2, b2: F.linear(torch.relu(F.linear(x, w1, b1)), w2, b2))
mistake(
    "x is changed in place",
    symptom="the residual connection around the network carries another x; autograd may complain",
    why="`x.relu_()`, `x += ...` or F.relu(x, inplace=True) writes into the caller's tensor.",
    hint="Into which tensor does your function write? Make a new one.",
)(lambda x, w1, b1, w2, b2: x.copy_(feed_forward(x, w1, b1, w2, b2)))
