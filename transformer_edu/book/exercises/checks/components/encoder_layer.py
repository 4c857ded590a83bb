"""Checks the wiring of an encoder layer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, inputs_afterwards, output
from transformer_edu.book.exercises.checks.engine.stubs import (
    by_largest,
    by_sum,
    calls,
    mean_of_tokens,
    squares,
)

Function = Callable[[Tensor], Tensor]
Norms = tuple[Function, Function]


def check_encoder_layer(fn: Callable[..., Any]) -> None:
    """Check fn(x, attend, feed_forward, norms), a post-norm encoder layer (paper, section 3.1).

    x is (batch, seq, d_model); attend, feed_forward and the two norms (a tuple) are functions of one such tensor.
    The answer is norms[1](y + feed_forward(y)) with y = norms[0](x + attend(x)).
    """
    COMPONENT.check(fn=fn)


def encoder_layer(x: Tensor, attend: Function, feed_forward: Function, norms: Norms) -> Tensor:
    """Attention, then feed-forward, each with a residual connection and a norm after the sum."""
    y = norms[0](x + attend(x))
    return norms[1](y + feed_forward(y))


def _given(rows: list[Any]) -> dict[str, Any]:
    return {
        "x": torch.tensor(rows),
        "attend": mean_of_tokens(),
        "feed_forward": squares(),
        "norms": (by_sum(), by_largest()),
    }


TWO_TOKENS = [[1.0, 3], [3, 5]]

COMPONENT = Component(
    "encoder layer",
    chapter=9,
    reference=encoder_layer,
    trials=[
        Trial("two tokens, d_model 2", _given([TWO_TOKENS]), output),
        Trial("two sentences", _given([TWO_TOKENS, [[-2.0, 0], [4, 1]]]), output),
        Trial("how often each part is called", _given([TWO_TOKENS]), calls),
        Trial("x afterwards", _given([TWO_TOKENS]), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
mistake = COMPONENT.mistake
Layer = Callable[[Tensor, Function, Function, Norms], Tensor]
Wiring = Callable[[Tensor, Tensor, Function, Function], Tensor]


def second_half(wiring: Wiring) -> Layer:
    """A layer whose first half is right; `wiring(x, y, attend, feed_forward)` goes into the second norm."""

    def layer(x: Tensor, attend: Function, feed_forward: Function, norms: Norms) -> Tensor:
        return norms[1](wiring(x, norms[0](x + attend(x)), attend, feed_forward))

    return layer


def with_norms(choose: Callable[[Norms], Norms]) -> Layer:
    """The right layer with other norms in its two places."""
    return lambda x, attend, feed_forward, norms: encoder_layer(x, attend, feed_forward, choose(norms))


def _nothing(x: Tensor) -> Tensor:
    return x


mistake(
    "the second addition adds the attention's output, as in norm(feed_forward(y) + attend(x))",
    symptom="the residual connection is broken in the middle of every layer; deep stacks train badly",
    why="a widely copied one-line formula says so. Each residual connection adds its own sub-layer's input.",
    hint="What goes into the feed-forward network? The same tensor has to be added to what comes out.",
)(second_half(lambda x, y, attend, feed_forward: attend(x) + feed_forward(y)))
mistake(
    "the second addition adds the layer's input x, not y",
    symptom="what attention has found reaches the output only through the feed-forward network",
    why="each residual connection adds its own sub-layer's input, and the feed-forward network's input is y.",
    hint="What goes into the feed-forward network? The same tensor has to be added to what comes out.",
)(second_half(lambda x, y, attend, feed_forward: x + feed_forward(y)))
mistake(
    "the feed-forward network reads x, not y",
    symptom="it thinks about the words before attention has joined them",
    why="the sub-layers work one after the other: the second one starts from the first one's result.",
    hint="Which of your variables holds the result of the first half?",
)(second_half(lambda x, y, attend, feed_forward: y + feed_forward(x)))
mistake(
    "the attention's result is lost: the second half starts from x again",
    symptom="no token knows of any other; word order and context play no part",
    why="y is computed and never used.",
    hint="Which of your variables does the return line not use?",
)(second_half(lambda x, y, attend, feed_forward: x + feed_forward(x)))
mistake(
    "the second residual connection is missing: y is not added",
    symptom="deep stacks do not train; every layer has to pass everything through its feed-forward network",
    why="the output of feed_forward goes straight into the norm.",
    hint="What should come out if feed_forward returned only zeros?",
)(second_half(lambda x, y, attend, feed_forward: feed_forward(y)))
mistake(
    "the feed-forward network is missing",
    symptom="fewer parameters than expected, and a higher loss",
    why="y goes straight into the second norm.",
    hint="Which argument of your function does the result not depend on?",
)(second_half(lambda x, y, attend, feed_forward: y))
mistake(
    "the first norm is missing",
    symptom="the feed-forward network reads sums of any scale; training is less stable",
    why="y is x + attend(x); it should be normalized before the second half begins.",
    hint="How many norms does one layer have, and where did you use norms[0]?",
)(with_norms(lambda norms: (_nothing, norms[1])))
mistake(
    "the second norm is missing",
    symptom="outputs grow from layer to layer",
    why="the second sum is returned as it is.",
    hint="How many norms does one layer have, and where did you use norms[1]?",
)(with_norms(lambda norms: (norms[0], _nothing)))
mistake(
    "the first norm is used in both places",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[1]?",
)(with_norms(lambda norms: (norms[0], norms[0])))
mistake(
    "the second norm is used in both places",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[0]?",
)(with_norms(lambda norms: (norms[1], norms[1])))
mistake(
    "the two norms have changed places",
    symptom="none when training from scratch, but weights of other implementations do not fit",
    why="norms[0] belongs to attention, norms[1] to the feed-forward network.",
    hint="Which norm did you call first?",
)(with_norms(lambda norms: (norms[1], norms[0])))


@mistake(
    "the first residual connection is missing: x is not added",
    symptom="a token's own word is lost unless attention brings it back; deep stacks do not train",
    why="the output of attend goes straight into the norm.",
    hint="What should y be if attend returned only zeros?",
)
def without_first_residual(x: Tensor, attend: Function, feed_forward: Function, norms: Norms) -> Tensor:
    y = norms[0](attend(x))
    return norms[1](y + feed_forward(y))


mistake(
    "there is no residual connection at all",
    symptom="stacks of more than a few layers do not train: the gradient has no straight way back",
    why="each sub-layer's output replaces its input; it should be added to it.",
    hint="What should come out if attend and feed_forward returned only zeros?",
)(lambda x, attend, feed_forward, norms: norms[1](feed_forward(norms[0](attend(x)))))


@mistake(
    "it is a pre-norm layer; a post-norm one is asked for",
    symptom="none by itself: this is the later variant, but its weights are others and it needs a final norm",
    why="here each norm stands before its sub-layer; in the paper it stands after the sum.",
    hint="Is the output of your layer normalized?",
)
def pre_norm(x: Tensor, attend: Function, feed_forward: Function, norms: Norms) -> Tensor:
    y = x + attend(norms[0](x))
    return y + feed_forward(norms[1](y))


@mistake(
    "only the sub-layers' outputs are normalized, not the sums",
    symptom="outputs grow from layer to layer",
    why="x + norm(attend(x)) closes the norm before the addition.",
    hint="Which comes first in norm(x + attend(x)), the sum or the norm?",
)
def norm_inside(x: Tensor, attend: Function, feed_forward: Function, norms: Norms) -> Tensor:
    y = x + norms[0](attend(x))
    return y + norms[1](feed_forward(y))


mistake(
    "the feed-forward network comes first, attention second",
    symptom="none that is easy to see; weights of other implementations do not fit",
    why="the two sub-layers have changed places.",
    hint="Which of the two did you call first?",
)(lambda x, attend, feed_forward, norms: encoder_layer(x, feed_forward, attend, norms))
mistake(
    "attention and feed-forward both read x, and one sum joins them",
    symptom="a parallel layer: the feed-forward network never sees what attention has found",
    why="some later models do this on purpose; in the paper the sub-layers work one after the other.",
    hint="What should the feed-forward network read?",
)(lambda x, attend, feed_forward, norms: norms[1](norms[0](x + attend(x) + feed_forward(x))))
mistake(
    "a part is called more than once",
    symptom="more computing time, and with dropout two different results of the same part",
    why="each call runs the whole sub-layer again.",
    hint="Keep what each part returns in a variable. How often is it called then?",
)(lambda x, attend, feed_forward, norms: norms[1](norms[0](x + attend(x)) + feed_forward(norms[0](x + attend(x)))))


@mistake(
    "x is changed in place",
    symptom="whoever uses x again finds the sum in it; autograd may complain",
    why="`x += ...` writes into the caller's tensor.",
    hint="`x = x + ...` and `x += ...` look alike. Which of them makes a new tensor?",
)
def changed_in_place(x: Tensor, attend: Function, feed_forward: Function, norms: Norms) -> Tensor:
    x += attend(x)
    y = norms[0](x)
    return norms[1](y + feed_forward(y))
