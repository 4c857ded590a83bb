"""Checks GPT's block: the paper's decoder layer without cross-attention, a norm in front of each part, and GELU."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor, gradient_of, made_module
from transformer_edu.book.exercises.checks.engine.compare import agree
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.masks import causal_mask
from transformer_edu.models.blocks import build_layer
from transformer_edu.models.gpt import GPTConfig
from transformer_edu.normalization import LayerNorm

D_MODEL, HEADS, D_FF, D_HEAD = 6, 2, 8, 3
Function = Callable[[Tensor], Tensor]


def check_gpt_block(cls: Callable[..., nn.Module]) -> None:
    """Check cls(d_model, num_heads, d_ff), a module called with x (batch, seq, d_model) and a mask (seq, seq).

    The mask is boolean, True = may attend. Pre-norm: a layer norm stands in front of each of the two parts, inside the
    residual branch. The activation is GELU, exact or by tanh. The check gives every parameter its numbers by its
    shape, whatever it is called, and switches dropout off.
    """
    COMPONENT.check(cls=cls)


class ByShape:
    """Numbers for the parameters of a block: the same for all of one shape, and of the kind that mixes up nothing.

    Each d_head × d_head piece of an attention's matrices is one symmetric matrix. So it does not matter which of them
    is W_Q and which W_O, how the heads are packed, and whether x @ W or x @ W.T is computed.
    """

    heads = torch.tensor([[0.3, -0.2, 0.1], [-0.2, 0.1, 0.2], [0.1, 0.2, -0.3]])
    expand = torch.arange(D_FF * D_MODEL).sin().view(D_FF, D_MODEL)

    def __repr__(self) -> str:
        return "the check's own: γ = 1, biases and β = 0, matrices of one shape alike"

    @torch.no_grad()
    def give(self, block: nn.Module) -> nn.Module:
        """The block in evaluation mode, with these numbers."""
        for parameter in block.parameters():
            parameter.copy_(self.numbers(parameter))
        return block.eval()

    def numbers(self, old: Tensor) -> Tensor:
        """A vector that is 1 throughout is a norm's γ, any other one a bias."""
        if old.dim() < 2:
            return torch.ones_like(old) if is_gamma(old) else torch.zeros_like(old)
        if sorted(old.shape) == [D_MODEL, D_FF]:
            return self.expand if old.shape[0] == D_FF else self.expand.T
        rows, columns = old.shape[-2:]
        if {rows, columns} - {D_HEAD, D_MODEL, 2 * D_MODEL, 3 * D_MODEL}:
            rows, columns = sorted((rows, columns))
            raise Unfit(f"has a matrix of {rows} × {columns} numbers, which these sizes do not ask for")
        return self.heads.repeat(*old.shape[:-2], rows // D_HEAD, columns // D_HEAD)


def is_gamma(parameter: Tensor) -> bool:
    """Whether it is the γ of a norm: a vector of ones."""
    return parameter.dim() == 1 and bool((parameter == 1).all())


def _made(make: Any, given: dict[str, Any]) -> nn.Module:
    sizes = (given[name] for name in ("d_model", "num_heads", "d_ff"))
    return given["weights"].give(made_module(make, *sizes))


def _answer(make: Any, given: dict[str, Any]) -> Any:
    return _made(make, given)(given["x"], given["mask"])


@torch.no_grad()
def _norms(make: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The answer, and how many norms it depends on: those whose γ makes it another one."""
    block = _made(make, given)
    output = as_tensor(block(given["x"], given["mask"]))
    count = 0
    for gamma in filter(is_gamma, block.parameters()):
        gamma.add_(torch.arange(len(gamma)))
        count += not agree(as_tensor(block(given["x"], given["mask"])), output, 1e-4)
        gamma.fill_(1)
    return {"output": output, "norms that it depends on": count}


def _trial(title: str, x: list[Any], mask: Tensor) -> Trial:
    sizes = {"d_model": D_MODEL, "num_heads": HEADS, "d_ff": D_FF, "weights": ByShape()}
    return Trial(title, {**sizes, "x": torch.tensor(x), "mask": mask}, _norms, tolerance=0.02)  # both forms of GELU


A, B, C, D = [1.0, 4, 2, 0, 3, -1], [3.0, -2, 1, 5, 0, 2], [-1.0, 2, 4, 3, 1, -3], [2.0, 0, -2, 1, 4, 6]
PREFIX = causal_mask(3) | torch.tensor([True, True, False])  # the first two tokens see each other


def gpt_block(d_model: int, num_heads: int, d_ff: int) -> nn.Module:
    """The package's layer, with its norms in front."""
    return build_layer(GPTConfig(d_model=d_model, num_heads=num_heads, d_ff=d_ff, dropout=0.0), pre=True)


COMPONENT = Component(
    "GPT block",
    chapter=18,
    reference=gpt_block,
    trials=[
        _trial("one token, d_model 6", [[A]], causal_mask(1)),
        _trial("three tokens, the causal mask", [[A, B, C]], causal_mask(3)),
        _trial("three tokens, of which the first two see each other", [[A, B, C]], PREFIX),
        _trial("two texts of two tokens", [[A, B], [C, D]], causal_mask(2)),
    ],
    gradient=gradient_of("x", call=_answer),
)
mistake = COMPONENT.mistake


class Block(nn.Module):
    """The right block; a mistake exchanges its wiring or one of its parts. A third norm is at hand."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        wire: Callable[..., Tensor],
        attend: Callable[..., Tensor] = lambda attention, y, mask: attention(y, y, y, mask),
        attention: Callable[[int, int], nn.Module] = MultiHeadAttention,
        activation: str = "gelu_tanh",
        width: Callable[[int, int], int] = lambda d_model, d_ff: d_ff,
    ) -> None:
        super().__init__()
        self.wire, self.attend = wire, attend
        self.attention = attention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, width(d_model, d_ff), activation=activation)
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (batch, seq, d_model), mask (seq, seq) -> (batch, seq, d_model)."""
        return self.wire(x, lambda y: self.attend(self.attention, y, mask), self.feed_forward, *self.norms)


def pre_norm(
    x: Tensor, attend: Function, think: Function, first: Function, second: Function, *more: Function
) -> Tensor:
    """As it should be."""
    y = x + attend(first(x))
    return y + think(second(y))


def halves(half: Callable[[Tensor, Function, Function], Tensor]) -> Callable[..., nn.Module]:
    """A block both of whose halves are half(x, part, norm)."""

    def wire(
        x: Tensor, attend: Function, think: Function, first: Function, second: Function, third: Function
    ) -> Tensor:
        return half(half(x, attend, first), think, second)

    return partial(Block, wire=wire)


def wired(wire: Callable[..., Tensor] = pre_norm, **parts: Any) -> Callable[..., nn.Module]:
    """A block with this wiring, wire(x, attend, think, and three norms), and with these parts."""
    return partial(Block, wire=wire, **parts)


def _of_torch(attention: nn.Module, y: Tensor, mask: Tensor) -> Tensor:
    return attention(y, y, y, attn_mask=~mask)[0]


mistake(
    "it is a post-norm block, as in the paper",
    symptom="weights of GPT-2 do not fit in it, and a deep stack needs a warm-up to train",
    why="the norm stands after the sum; since GPT-2 it stands in front of each part, and the sum stays as it is.",
    hint="Is the output of your block normalized? In GPT it is not: the stack has one more norm at its end.",
)(halves(lambda x, part, norm: norm(x + part(x))))
mistake(
    "the norm changes the residual stream: what is added to is norm(x), not x",
    symptom="deep stacks train badly: no layer passes on what came in",
    why="x = norm(x) puts the normalized vector in the stream; only what the part reads should be normalized.",
    hint="What should come out if both parts returned only zeros?",
)(halves(lambda x, part, norm: norm(x) + part(norm(x))))
mistake(
    "the parts' outputs are normalized, not what they read",
    symptom="parts that read sums of any size, and weights of GPT-2 that do not fit",
    why="norm(part(x)) closes the norm around the part; pre-norm is part(norm(x)).",
    hint="In x + part(norm(x)), what does attention read?",
)(halves(lambda x, part, norm: x + norm(part(x))))
mistake(
    "the activation is still ReLU",
    symptom="a slightly higher loss, and weights of GPT-2 that write nonsense",
    why="the paper's feed-forward part has max(0, x) between its matrices; GPT has GELU.",
    hint="What does your activation make of −1? GELU makes −0.159 of it.",
)(wired(activation="relu"))
mistake(
    "the mask is not passed on to attention",
    symptom="a training loss that falls far too low, and nonsense when the model writes: it reads the answers",
    why="forward takes a mask, and attention is called without it.",
    hint="Which argument of your forward does the result not depend on?",
)(wired(attend=lambda attention, y, mask: attention(y, y, y)))
mistake(
    "the block makes a causal mask of its own, and does not use the one it is given",
    symptom="right until texts are padded: then padding is read",
    why="is_causal=True, or a mask registered in the constructor, knows nothing of padding.",
    hint="Which argument of your forward does the result not depend on?",
)(wired(attend=lambda attention, y, mask: attention(y, y, y, causal_mask(y.shape[1]))))
mistake(
    "the mask is the wrong way round for torch.nn.MultiheadAttention",
    symptom="NaN at once: the last token may look at nothing",
    why="True means *may attend* here; in that class it means *may not*.",
    hint="What does the documentation of attn_mask say about True?",
)(
    wired(
        attention=partial(nn.MultiheadAttention, batch_first=True),
        attend=lambda attention, y, mask: attention(y, y, y, attn_mask=mask)[0],
    )
)
mistake(
    "batch and tokens have changed places in torch.nn.MultiheadAttention",
    symptom="a shape error; with as many texts as tokens, each text reads the others",
    why="that class wants (seq, batch, d_model), unless it is made with batch_first=True.",
    hint="Which of your tensor's dimensions is the sentence? Where does that class look for it?",
)(wired(attention=nn.MultiheadAttention, attend=_of_torch))
mistake(
    "the norm of cross-attention is left, and normalizes the residual stream",
    symptom="three norms in a block where GPT-2 has two; deep stacks train badly",
    why="the middle sub-layer was taken out, and x = norm(x) was not.",
    hint="How many norms does a block of two parts need?",
)(wired(lambda x, attend, think, first, second, third: (y := second(x + attend(first(x)))) + think(third(y))))
mistake(
    "cross-attention is left in, and looks at the text itself",
    symptom="three parts and three norms: a third more to compute, and weights of GPT-2 that do not fit",
    why="without an encoder there is no memory; the sub-layer that reads it goes, with its norm and its sum.",
    hint="How many parts are left when there is no source to look at?",
)(wired(lambda x, attend, think, first, second, third: pre_norm(x + attend(first(x)), attend, think, second, third)))
mistake(
    "the first residual connection is missing: x is not added",
    symptom="a token's own word is lost unless attention brings it back; deep stacks do not train",
    why="attention's output takes the place of x.",
    hint="What should come out of the first half if attention returned only zeros?",
)(wired(lambda x, attend, think, first, second, third: (y := attend(first(x))) + think(second(y))))
mistake(
    "the second residual connection is missing: y is not added",
    symptom="deep stacks do not train; every layer has to pass everything through its feed-forward part",
    why="the feed-forward part's output is returned as it is.",
    hint="What should come out if the feed-forward part returned only zeros?",
)(wired(lambda x, attend, think, first, second, third: think(second(x + attend(first(x))))))
mistake(
    "the second addition adds the block's input x, not y",
    symptom="what attention has found reaches the output only through the feed-forward part",
    why="each residual connection adds its own part's input before the norm, and that is y here.",
    hint="Which of your variables holds the sum of the first half?",
)(wired(lambda x, attend, think, first, second, third: x + think(second(x + attend(first(x))))))
mistake(
    "attention and feed-forward both read x, and one sum joins them",
    symptom="a parallel block: the feed-forward part never sees what attention has found in this layer",
    why="some later models do this on purpose; in GPT-2 the second part reads the sum of the first.",
    hint="What should the feed-forward part read?",
)(wired(lambda x, attend, think, first, second, third: x + attend(first(x)) + think(second(x))))
mistake(
    "one norm is used in both places",
    symptom="too few parameters; weights of GPT-2 do not fit",
    why="each norm has a γ and β of its own.",
    hint="How many norms does your constructor make, and how many does forward use?",
)(wired(lambda x, attend, think, first, second, third: pre_norm(x, attend, think, first, first)))
mistake(
    "the last norm of the stack stands in every block",
    symptom="a third norm in each block: what is added to the residual stream is scaled down again and again",
    why="a pre-norm stack ends in one norm, after its last block; it is no part of the block.",
    hint="How many norms does the whole stack of n blocks need?",
)(wired(lambda x, attend, think, first, second, third: third(pre_norm(x, attend, think, first, second))))
mistake(
    "d_ff is not used: the feed-forward part is 4 · d_model wide",
    symptom="weights of another width do not fit; the parameter count does not change with d_ff",
    why="GPT-2's width happens to be 4 · d_model, and the number stands in the code.",
    hint="Which argument of your constructor does the block not depend on?",
)(wired(width=lambda d_model, d_ff: 4 * d_model))


@mistake(
    "only the query is normalized; keys and values are x as it is",
    symptom="scores that grow from layer to layer, and attention that looks at one token alone",
    why="attention(norm(x), x, x) normalizes one of three; in self-attention all three are one tensor.",
    hint="What are key and value in the call of your attention?",
)
class QueryAlone(Block):
    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes, wire=pre_norm)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = x + self.attention(self.norms[0](x), x, x, mask)
        return y + self.feed_forward(self.norms[1](y))
