"""Checks the wiring of a decoder layer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, gradient_of, inputs_afterwards, output
from transformer_edu.book.exercises.checks.engine.stubs import (
    attention,
    by_largest,
    by_length,
    by_sum,
    calls,
    masked_attention,
    squares,
)

Function = Callable[[Tensor], Tensor]
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
Norms = tuple[Function, ...]  # three


def check_decoder_layer(fn: Callable[..., Any]) -> None:
    """Check fn(x, memory, self_attention, cross_attention, feed_forward, norms), a post-norm decoder layer.

    x is (batch, seq, d_model), memory (batch, source_seq, d_model). Both attentions are functions of query, key and
    value (self_attention masks by itself), feed_forward and the three norms (a tuple) are functions of one tensor.
    """
    COMPONENT.check(fn=fn)


def decoder_layer(
    x: Tensor,
    memory: Tensor,
    self_attention: Attention,
    cross_attention: Attention,
    feed_forward: Function,
    norms: Norms,
) -> Tensor:
    """Self-attention, cross-attention, feed-forward, each with a residual connection and a norm after the sum."""
    y = norms[0](x + self_attention(x, x, x))
    z = norms[1](y + cross_attention(y, memory, memory))
    return norms[2](z + feed_forward(z))


def _given(x: list[Any], memory: list[Any]) -> dict[str, Any]:
    return {
        "x": torch.tensor(x),
        "memory": torch.tensor(memory),
        "self_attention": masked_attention(),
        "cross_attention": attention(),
        "feed_forward": squares(),
        "norms": (by_sum(), by_largest(), by_length()),
    }


TARGET = [[1.0, 0], [2, 1]]
MEMORY = [[0.0, 2], [1, 3], [-1, 1]]
MORE_TARGET = [[0.0, 3], [-1, 1]]
MORE_MEMORY = [[1.0, 1], [2, -1], [0, 1]]

COMPONENT = Component(
    "decoder layer",
    chapter=10,
    reference=decoder_layer,
    trials=[  # equal lengths first: there a mix-up of target and memory shows as numbers, not as a shape error
        Trial("two target tokens, two of the source", _given([TARGET], [MEMORY[:2]]), output),
        Trial("two target tokens, three of the source", _given([TARGET], [MEMORY]), output),
        Trial("two sentences", _given([TARGET, MORE_TARGET], [MEMORY, MORE_MEMORY]), output),
        Trial("how often each part is called", _given([TARGET], [MEMORY]), calls),
        Trial("x and memory afterwards", _given([TARGET], [MEMORY]), inputs_afterwards),
    ],
    gradient=gradient_of("x", "memory"),
)
mistake = COMPONENT.mistake
Parts = list[tuple[Function, Function]]  # sub-layers, each with the norm after it


def layer(
    x: Tensor,
    memory: Tensor,
    self_attention: Attention,
    cross_attention: Attention,
    feed_forward: Function,
    norms: Norms,
    *,
    self_reads: Callable[..., tuple[Tensor, Tensor, Tensor]] = lambda x, memory: (x, x, x),
    reads: Callable[..., tuple[Tensor, Tensor, Tensor]] = lambda x, y, memory: (y, memory, memory),
    first: Callable[..., Tensor] = lambda x, attended: x + attended,
    second: Callable[..., Tensor] = lambda x, y, memory, attended: y + attended,
    third: Callable[..., Tensor] = lambda x, y, z, thought: z + thought,
) -> Tensor:
    """The right layer, with what both attentions read and what goes into each norm to choose."""
    y = norms[0](first(x, self_attention(*self_reads(x, memory))))
    z = norms[1](second(x, y, memory, cross_attention(*reads(x, y, memory))))
    return norms[2](third(x, y, z, feed_forward(z)))


def in_turn(choose: Callable[[Function, Function, Function, Norms], Parts]) -> Callable[..., Tensor]:
    """A layer of the parts that `choose` takes of attention, cross-attention and feed-forward, one after another."""

    def layer(x: Tensor, memory: Tensor, attend: Attention, cross: Attention, feed: Function, norms: Norms) -> Tensor:
        for part, norm in choose(lambda y: attend(y, y, y), lambda y: cross(y, memory, memory), feed, norms):
            x = norm(x + part(x))
        return x

    return layer


def _without_norm(place: int) -> Callable[..., Tensor]:
    def layer(x: Tensor, memory: Tensor, attend: Attention, cross: Attention, feed: Function, norms: Norms) -> Tensor:
        kept = (*norms[:place], lambda y: y, *norms[place + 1 :])
        return decoder_layer(x, memory, attend, cross, feed, kept)

    return layer


mistake(
    "the second addition adds the layer's input x, not y",
    symptom="what self-attention has found reaches the output only as a query",
    why="each residual connection adds its own sub-layer's input, and cross-attention's query is y.",
    hint="What is the query of cross-attention? The same tensor has to be added to what comes out.",
)(partial(layer, second=lambda x, y, memory, attended: x + attended))
mistake(
    "the second addition adds the memory, not y",
    symptom="a shape error; when both sentences are equally long, the target's words are replaced by the source's",
    why="each residual connection adds its own sub-layer's input; the memory only brings keys and values.",
    hint="The memory has one row for each source token. How many rows does your sum need?",
)(partial(layer, second=lambda x, y, memory, attended: memory + attended))
mistake(
    "the second residual connection is missing: y is not added to what cross-attention brings",
    symptom="the decoder forgets what it has written so far",
    why="the output of cross-attention goes straight into the norm.",
    hint="What should come out of this half if cross_attention returned only zeros?",
)(partial(layer, second=lambda x, y, memory, attended: attended))
mistake(
    "the third addition adds y, not z",
    symptom="what cross-attention has found reaches the output only through the feed-forward network",
    why="each residual connection adds its own sub-layer's input, and the feed-forward network's input is z.",
    hint="What goes into the feed-forward network? The same tensor has to be added to what comes out.",
)(partial(layer, third=lambda x, y, z, thought: y + thought))
mistake(
    "the third addition adds the layer's input x, not z",
    symptom="what both attentions have found reaches the output only through the feed-forward network",
    why="each residual connection adds its own sub-layer's input, and the feed-forward network's input is z.",
    hint="What goes into the feed-forward network? The same tensor has to be added to what comes out.",
)(partial(layer, third=lambda x, y, z, thought: x + thought))
mistake(
    "the third residual connection is missing: z is not added",
    symptom="deep stacks do not train; every layer has to pass everything through its feed-forward network",
    why="the output of feed_forward goes straight into the norm.",
    hint="What should come out if feed_forward returned only zeros?",
)(partial(layer, third=lambda x, y, z, thought: thought))
mistake(
    "the feed-forward network is missing",
    symptom="fewer parameters than expected, and a higher loss",
    why="z goes straight into the third norm.",
    hint="Which argument of your function does the result not depend on?",
)(partial(layer, third=lambda x, y, z, thought: z))


for place, after in enumerate(("self-attention", "cross-attention", "the feed-forward network")):
    mistake(
        f"the norm after {after} is missing",
        symptom="the next part reads sums of any scale; training is less stable",
        why=f"norms[{place}] is not called.",
        hint=f"How many norms does a decoder layer have, and where did you use norms[{place}]?",
    )(_without_norm(place))
mistake(
    "the first norm is used in all three places",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[1] and norms[2]?",
)(in_turn(lambda a, c, f, norms: [(a, norms[0]), (c, norms[0]), (f, norms[0])]))
mistake(
    "the first norm is used twice, after self-attention and after cross-attention",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[1]?",
)(in_turn(lambda a, c, f, norms: [(a, norms[0]), (c, norms[0]), (f, norms[2])]))
mistake(
    "the second norm is used twice, after cross-attention and after the feed-forward network",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[2]?",
)(in_turn(lambda a, c, f, norms: [(a, norms[0]), (c, norms[1]), (f, norms[1])]))


@mistake(
    "it is a pre-norm layer; a post-norm one is asked for",
    symptom="none by itself: this is the later variant, but its weights are others and it needs a final norm",
    why="here each norm stands before its sub-layer; in the paper it stands after the sum.",
    hint="Is the output of your layer normalized?",
)
def pre_norm(
    x: Tensor,
    memory: Tensor,
    self_attention: Attention,
    cross_attention: Attention,
    feed_forward: Function,
    norms: Norms,
) -> Tensor:
    h = norms[0](x)
    y = x + self_attention(h, h, h)
    z = y + cross_attention(norms[1](y), memory, memory)
    return z + feed_forward(norms[2](z))


mistake(
    "cross-attention never looks at the memory: query, key and value are the target",
    symptom="fluent translations that have nothing to do with the source",
    why="cross_attention gets y three times, as self_attention gets x.",
    hint="Which argument of your function does the result not depend on?",
)(partial(layer, reads=lambda x, y, memory: (y, y, y)))
mistake(
    "keys and values of cross-attention are the layer's input x, not the memory",
    symptom="fluent translations that have nothing to do with the source",
    why="the query asks, the memory answers: keys and values are both the encoder's output.",
    hint="Which argument of your function does the result not depend on?",
)(partial(layer, reads=lambda x, y, memory: (y, x, x)))
mistake(
    "the values of cross-attention come from the target, not from the memory",
    symptom="a shape error; when both sentences are equally long, weights for source words weigh target words",
    why="keys and values belong together: what is found by its key is handed out by its value.",
    hint="The weights have one column for each source token. How many rows must the value have?",
)(partial(layer, reads=lambda x, y, memory: (y, memory, y)))
mistake(
    "the keys of cross-attention come from the target, not from the memory",
    symptom="a shape error; when both sentences are equally long, the source is mixed by the target's own scores",
    why="keys and values belong together: what is found by its key is handed out by its value.",
    hint="With what should the query be compared, if it is to find a source word?",
)(partial(layer, reads=lambda x, y, memory: (y, y, memory)))
mistake(
    "query and memory have changed places: the memory asks, the target answers",
    symptom="a shape error; when both sentences are equally long, the source words look at all of the target",
    why="one result is wanted for each target token, so the target is the query.",
    hint="One row comes out for each query. How many rows should come out?",
)(partial(layer, reads=lambda x, y, memory: (memory, y, y)))
mistake(
    "query, key and value of cross-attention are all the memory",
    symptom="a shape error; when both sentences are equally long, each target token gets a source token's result",
    why="one result is wanted for each target token, so the target is the query.",
    hint="One row comes out for each query. How many rows should come out?",
)(partial(layer, reads=lambda x, y, memory: (memory, memory, memory)))
mistake(
    "the query of cross-attention is the layer's input x, not y",
    symptom="the decoder asks with single words, without what self-attention has found",
    why="the sub-layers work one after the other: the second one starts from the first one's result.",
    hint="Which of your variables holds the result of self-attention?",
)(partial(layer, reads=lambda x, y, memory: (x, memory, memory)))
mistake(
    "keys and values of self-attention are the memory",
    symptom="the decoder does not know what it has written so far",
    why="in self-attention query, key and value are all x; the memory's turn comes after it.",
    hint="In which of the two attentions does the target look at itself?",
)(partial(layer, self_reads=lambda x, memory: (x, memory, memory)))
mistake(
    "masked self-attention is left out",
    symptom="words come in no order, or repeat: no target token knows what was written before it",
    why="a decoder layer has three sub-layers. A widely copied formula has two.",
    hint="Which argument of your function does the result not depend on?",
)(in_turn(lambda a, c, f, norms: [(c, norms[1]), (f, norms[2])]))
mistake(
    "cross-attention is left out",
    symptom="fluent translations that have nothing to do with the source",
    why="a decoder layer has three sub-layers; without the second it is a language model.",
    hint="Which argument of your function does the result not depend on?",
)(in_turn(lambda a, c, f, norms: [(a, norms[0]), (f, norms[2])]))
mistake(
    "the first residual connection is missing: x is not added",
    symptom="a token's own word is lost unless self-attention brings it back; deep stacks do not train",
    why="the output of self_attention goes straight into the norm.",
    hint="What should y be if self_attention returned only zeros?",
)(partial(layer, first=lambda x, attended: attended))
mistake(
    "cross-attention comes before self-attention",
    symptom="none that is easy to see; weights of other implementations do not fit",
    why="the paper's order is: look at what is written, then at the source, then think.",
    hint="Which of the two attentions did you call first?",
)(in_turn(lambda a, c, f, norms: [(c, norms[0]), (a, norms[1]), (f, norms[2])]))


@mistake(
    "a part is called more than once",
    symptom="more computing time, and with dropout two different results of the same part",
    why="each call runs the whole sub-layer again.",
    hint="Keep what each part returns in a variable. How often is it called then?",
)
def called_again(
    x: Tensor, memory: Tensor, self_attention: Attention, cross: Attention, feed_forward: Function, norms: Norms
) -> Tensor:
    def first() -> Tensor:
        return norms[0](x + self_attention(x, x, x))

    def second() -> Tensor:
        return norms[1](first() + cross(first(), memory, memory))

    return norms[2](second() + feed_forward(second()))


@mistake(
    "x is changed in place",
    symptom="whoever uses x again finds the sum in it; autograd may complain",
    why="`x += ...` writes into the caller's tensor.",
    hint="`x = x + ...` and `x += ...` look alike. Which of them makes a new tensor?",
)
def changed_in_place(
    x: Tensor, memory: Tensor, self_attention: Attention, cross: Attention, feed_forward: Function, norms: Norms
) -> Tensor:
    before = x.clone()
    x += self_attention(x, x, x)
    return decoder_layer(before, memory, self_attention, cross, feed_forward, norms)
