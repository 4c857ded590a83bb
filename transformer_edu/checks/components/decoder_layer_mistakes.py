"""Known mistakes in a decoder layer: bypasses and norms. `decoder_layer_cross_mistakes` has those of attention."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from transformer_edu.checks.components.decoder_layer import DECODER_LAYER, Attention, Function, Norms, decoder_layer

mistake = DECODER_LAYER.mistake
Layer = Callable[[Tensor, Tensor, Attention, Attention, Function, Norms], Tensor]
Add = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def right_second(x: Tensor, y: Tensor, memory: Tensor, attended: Tensor) -> Tensor:
    """What goes into the second norm."""
    return y + attended


def right_third(x: Tensor, y: Tensor, z: Tensor, thought: Tensor) -> Tensor:
    """What goes into the third norm."""
    return z + thought


def with_sums(second: Add = right_second, third: Add = right_third) -> Layer:
    """The right layer with other sums."""

    def layer(
        x: Tensor,
        memory: Tensor,
        self_attention: Attention,
        cross_attention: Attention,
        feed_forward: Function,
        norms: Norms,
    ) -> Tensor:
        y = norms[0](x + self_attention(x, x, x))
        z = norms[1](second(x, y, memory, cross_attention(y, memory, memory)))
        return norms[2](third(x, y, z, feed_forward(z)))

    return layer


def with_norms(choose: Callable[[Norms], Norms]) -> Layer:
    """The right layer with other norms in its three places."""

    def layer(x: Tensor, memory: Tensor, *parts: Any) -> Tensor:
        self_attention, cross_attention, feed_forward, norms = parts
        return decoder_layer(x, memory, self_attention, cross_attention, feed_forward, choose(norms))

    return layer


def nothing(x: Tensor) -> Tensor:
    """What stands in a place where something is missing."""
    return x


def without(place: int) -> Callable[[Norms], Norms]:
    """Leave one of the three norms out."""
    return lambda norms: (*norms[:place], nothing, *norms[place + 1 :])


# ------------------------------------------------------------------ sums

mistake(
    "the second addition adds the layer's input x, not y",
    symptom="what self-attention has found reaches the output only as a query",
    why="each residual connection adds its own sub-layer's input, and cross-attention's query is y.",
    hint="What is the query of cross-attention? The same tensor has to be added to what comes out.",
)(with_sums(second=lambda x, y, memory, attended: x + attended))
mistake(
    "the second addition adds the memory, not y",
    symptom="a shape error; when both sentences are equally long, the target's words are replaced by the source's",
    why="each residual connection adds its own sub-layer's input; the memory only brings keys and values.",
    hint="The memory has one row for each source token. How many rows does your sum need?",
)(with_sums(second=lambda x, y, memory, attended: memory + attended))
mistake(
    "the second bypass is missing: y is not added to what cross-attention brings",
    symptom="the decoder forgets what it has written so far",
    why="the output of cross-attention goes straight into the norm.",
    hint="What should come out of this half if cross_attention returned only zeros?",
)(with_sums(second=lambda x, y, memory, attended: attended))
mistake(
    "the third addition adds y, not z",
    symptom="what cross-attention has found reaches the output only through the feed-forward network",
    why="each residual connection adds its own sub-layer's input, and the feed-forward network's input is z.",
    hint="What goes into the feed-forward network? The same tensor has to be added to what comes out.",
)(with_sums(third=lambda x, y, z, thought: y + thought))
mistake(
    "the third addition adds the layer's input x, not z",
    symptom="what both attentions have found reaches the output only through the feed-forward network",
    why="each residual connection adds its own sub-layer's input, and the feed-forward network's input is z.",
    hint="What goes into the feed-forward network? The same tensor has to be added to what comes out.",
)(with_sums(third=lambda x, y, z, thought: x + thought))
mistake(
    "the third bypass is missing: z is not added",
    symptom="deep stacks do not train; every layer has to pass everything through its feed-forward network",
    why="the output of feed_forward goes straight into the norm.",
    hint="What should come out if feed_forward returned only zeros?",
)(with_sums(third=lambda x, y, z, thought: thought))
mistake(
    "the feed-forward network is missing",
    symptom="fewer parameters than expected, and a higher loss",
    why="z goes straight into the third norm.",
    hint="Which argument of your function does the result not depend on?",
)(with_sums(third=lambda x, y, z, thought: z))

# ------------------------------------------------------------------ norms

for place, after in enumerate(("self-attention", "cross-attention", "the feed-forward network")):
    mistake(
        f"the norm after {after} is missing",
        symptom="the next part reads sums of any scale; training is less stable",
        why=f"norms[{place}] is not called.",
        hint=f"How many norms does a decoder layer have, and where did you use norms[{place}]?",
    )(with_norms(without(place)))
mistake(
    "the first norm is used in all three places",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[1] and norms[2]?",
)(with_norms(lambda norms: (norms[0], norms[0], norms[0])))
mistake(
    "the first norm is used twice, after self-attention and after cross-attention",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[1]?",
)(with_norms(lambda norms: (norms[0], norms[0], norms[2])))
mistake(
    "the second norm is used twice, after cross-attention and after the feed-forward network",
    symptom="too few parameters; a state dict of another implementation does not fit",
    why="each norm has a γ and β of its own.",
    hint="Where did you use norms[2]?",
)(with_norms(lambda norms: (norms[0], norms[1], norms[1])))


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
