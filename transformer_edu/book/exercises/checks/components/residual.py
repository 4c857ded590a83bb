"""Checks a residual connection with its norm before or after."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, inputs_afterwards, output
from transformer_edu.book.exercises.checks.engine.stubs import by_sum, calls, squares

Function = Callable[[Tensor], Tensor]


def check_residual(fn: Callable[..., Any]) -> None:
    """Check fn(x, part, norm, place): norm(x + part(x)) for place "post", x + part(norm(x)) for place "pre".

    part and norm are functions, (batch, seq, d_model) -> (batch, seq, d_model).
    """
    COMPONENT.check(fn=fn)


def residual(x: Tensor, part: Function, norm: Function, place: str) -> Tensor:
    """A residual connection around a part, with the norm after the sum or before the part."""
    return norm(x + part(x)) if place == "post" else x + part(norm(x))


def _given(rows: list[Any], place: str) -> dict[str, Any]:
    return {"x": torch.tensor(rows), "part": squares(), "norm": by_sum(), "place": place}


TOKEN = [[[1.0, 3]]]
SENTENCES = [[[1.0, 3], [-2, 2]], [[0.0, 5], [4, 1]]]

COMPONENT = Component(
    "residual connection",
    chapter=8,
    reference=residual,
    trials=[
        Trial("one token, the norm after the sum", _given(TOKEN, "post"), output),
        Trial("one token, the norm before the part", _given(TOKEN, "pre"), output),
        Trial("two sentences, the norm after the sum", _given(SENTENCES, "post"), output),
        Trial("two sentences, the norm before the part", _given(SENTENCES, "pre"), output),
        Trial("how often each is called, post", _given(TOKEN, "post"), calls),
        Trial("how often each is called, pre", _given(TOKEN, "pre"), calls),
        Trial("x afterwards, post", _given(TOKEN, "post"), inputs_afterwards),
        Trial("x afterwards, pre", _given(TOKEN, "pre"), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
mistake = COMPONENT.mistake
Wiring = Callable[[Tensor, Function, Function], Tensor]
Residual = Callable[[Tensor, Function, Function, str], Tensor]


def right_post(x: Tensor, part: Function, norm: Function) -> Tensor:
    """The paper's: normalize the sum."""
    return norm(x + part(x))


def right_pre(x: Tensor, part: Function, norm: Function) -> Tensor:
    """The later one: normalize what the part reads."""
    return x + part(norm(x))


def wired(post: Wiring = right_post, pre: Wiring = right_pre) -> Residual:
    """A residual connection from two wirings, one for each place."""
    return lambda x, part, norm, place: (post if place == "post" else pre)(x, part, norm)


mistake(
    '"pre" and "post" have changed places',
    symptom="results differ from a model with the same weights; deep stacks need a warm-up where they should not",
    why="post: the norm stands after the sum, norm(x + part(x)). pre: before the part, x + part(norm(x)).",
    hint="In which of the two is the output itself normalized?",
)(wired(right_pre, right_post))
mistake(
    '`place` is ignored: it is always "post"',
    symptom="a pre-norm model has the gradients of a post-norm one",
    why="the result does not depend on the argument.",
    hint='What should the output be for "pre", with the numbers above?',
)(wired(right_post, right_post))
mistake(
    '`place` is ignored: it is always "pre"',
    symptom="a post-norm model's outputs grow from layer to layer, as in a pre-norm one without its final norm",
    why="the result does not depend on the argument.",
    hint='What should the output be for "post", with the numbers above?',
)(wired(right_pre, right_pre))
mistake(
    "in pre-norm the norm stands on the main road: norm(x) + part(norm(x))",
    symptom="the residual connection no longer carries x itself; deep stacks lose what pre-norm was chosen for",
    why="x was overwritten, as in `x = norm(x)`, and then added.",
    hint="Which tensor must be added at the end, and is it still there?",
)(wired(pre=lambda x, part, norm: norm(x) + part(norm(x))))
mistake(
    "in post-norm only the part's output is normalized: x + norm(part(x))",
    symptom="the sum grows from layer to layer; weights of other implementations do not fit",
    why="the norm closes before the addition.",
    hint="Which comes first in norm(x + part(x)), the sum or the norm?",
)(wired(post=lambda x, part, norm: x + norm(part(x))))
mistake(
    "in post-norm only x is normalized: norm(x) + part(x)",
    symptom="the sum grows from layer to layer; weights of other implementations do not fit",
    why="the norm stands on the residual connection; it belongs after the sum.",
    hint="Which comes first in norm(x + part(x)), the sum or the norm?",
)(wired(post=lambda x, part, norm: norm(x) + part(x)))
mistake(
    "there is no residual connection: x is not added",
    symptom="stacks of more than a few layers do not train: the gradient has no straight way back",
    why="the part's output replaces x; it should be added to it.",
    hint="What should come out if the part returned only zeros?",
)(wired(lambda x, part, norm: norm(part(x)), lambda x, part, norm: part(norm(x))))
mistake(
    "there is no norm",
    symptom="outputs grow from layer to layer until training fails",
    why="the argument norm is not called.",
    hint="Which argument of your function does the result not depend on?",
)(wired(*[lambda x, part, norm: x + part(x)] * 2))
mistake(
    "the norm stands in both places, before the part and after the sum",
    symptom="results differ from a model with the same weights, and one norm serves two purposes",
    why="post and pre are alternatives; each has one norm.",
    hint="How often does norm appear in each of the two formulas?",
)(wired(*[lambda x, part, norm: norm(x + part(norm(x)))] * 2))
mistake(
    "in pre-norm the part reads x, and the norm is applied to its output",
    symptom="the part's input grows with depth, for nothing keeps it to one scale",
    why="part(norm(x)) and norm(part(x)) are different things.",
    hint="Which function should work first in pre-norm?",
)(wired(pre=lambda x, part, norm: x + norm(part(x))))
mistake(
    "x is multiplied with the part's output, not added",
    symptom="a part that returns zeros blocks everything that came before it",
    why="the residual connection is a sum.",
    hint="What should come out if the part returned only zeros?",
)(wired(lambda x, part, norm: norm(x * part(x)), lambda x, part, norm: x * part(norm(x))))
mistake(
    "the part's own output is added to what it makes of it; x is lost",
    symptom="the residual connection begins after the part, so the gradient still has to pass through it",
    why="x was overwritten, as in `x = part(x)`, before the sum.",
    hint="Which tensor must be added at the end, and is it still there?",
)(wired(lambda x, part, norm: norm(part(x) + part(part(x))), lambda x, part, norm: part(x) + part(norm(part(x)))))


def _again(part: Function) -> Function:
    """What the second of two calls gives."""
    return lambda x: (part(x), part(x))[1]


mistake(
    "the part is called more than once",
    symptom="twice the computing time, and with dropout two different results of the same part",
    why="each call runs the whole sub-layer again.",
    hint="Keep what the part returns in a variable. How often is it called then?",
)(
    wired(
        lambda x, part, norm: right_post(x, _again(part), norm), lambda x, part, norm: right_pre(x, _again(part), norm)
    )
)


def _in_place(x: Tensor, change: Tensor) -> Tensor:
    x += change
    return x


mistake(
    "x is changed in place",
    symptom="whoever uses x again finds the sum in it; autograd may complain",
    why="`x += ...` writes into the caller's tensor.",
    hint="`x = x + ...` and `x += ...` look alike. Which of them makes a new tensor?",
)(
    wired(
        lambda x, part, norm: norm(_in_place(x, part(x))),
        lambda x, part, norm: _in_place(x, part(norm(x))),
    )
)
