"""Known mistakes in a decoder layer: which attention comes when, and who asks whom."""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from transformer_edu.checks.components.decoder_layer import Attention, Function, Norms, decoder_layer
from transformer_edu.checks.components.decoder_layer_mistakes import mistake

Triple = tuple[Tensor, Tensor, Tensor]
Read = Callable[[Tensor, Tensor, Tensor], Triple]


def layer(
    x: Tensor,
    memory: Tensor,
    self_attention: Attention,
    cross_attention: Attention,
    feed_forward: Function,
    norms: Norms,
    *,
    reads: Read = lambda x, y, memory: (y, memory, memory),
    self_reads: Callable[[Tensor, Tensor], Triple] = lambda x, memory: (x, x, x),
) -> Tensor:
    """The right layer, with the query, key and value of both attentions to choose."""
    y = norms[0](x + self_attention(*self_reads(x, memory)))
    z = norms[1](y + cross_attention(*reads(x, y, memory)))
    return norms[2](z + feed_forward(z))


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


@mistake(
    "masked self-attention is left out",
    symptom="words come in no order, or repeat: no target token knows what was written before it",
    why="a decoder layer has three sub-layers. A widely copied formula has two.",
    hint="Which argument of your function does the result not depend on?",
)
def without_self_attention(
    x: Tensor, memory: Tensor, _: Attention, cross_attention: Attention, feed_forward: Function, norms: Norms
) -> Tensor:
    z = norms[1](x + cross_attention(x, memory, memory))
    return norms[2](z + feed_forward(z))


@mistake(
    "cross-attention is left out",
    symptom="fluent translations that have nothing to do with the source",
    why="a decoder layer has three sub-layers; without the second it is a language model.",
    hint="Which argument of your function does the result not depend on?",
)
def without_cross_attention(
    x: Tensor, memory: Tensor, self_attention: Attention, _: Attention, feed_forward: Function, norms: Norms
) -> Tensor:
    y = norms[0](x + self_attention(x, x, x))
    return norms[2](y + feed_forward(y))


@mistake(
    "the first bypass is missing: x is not added",
    symptom="a token's own word is lost unless self-attention brings it back; deep stacks do not train",
    why="the output of self_attention goes straight into the norm.",
    hint="What should y be if self_attention returned only zeros?",
)
def without_first_bypass(
    x: Tensor, memory: Tensor, self_attention: Attention, cross: Attention, feed_forward: Function, norms: Norms
) -> Tensor:
    return decoder_layer(x, memory, lambda q, k, v: self_attention(q, k, v) - x, cross, feed_forward, norms)


@mistake(
    "cross-attention comes before self-attention",
    symptom="none that is easy to see; weights of other implementations do not fit",
    why="the paper's order is: look at what is written, then at the source, then think.",
    hint="Which of the two attentions did you call first?",
)
def cross_first(
    x: Tensor, memory: Tensor, self_attention: Attention, cross: Attention, feed_forward: Function, norms: Norms
) -> Tensor:
    y = norms[0](x + cross(x, memory, memory))
    z = norms[1](y + self_attention(y, y, y))
    return norms[2](z + feed_forward(z))


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
