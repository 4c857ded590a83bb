"""Does a part that a reader wrote fit into the machine? Same weights, by the same names; same answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.attention import MultiHeadAttention, scaled_dot_product_attention
from transformer_edu.book.exercises.checks.components.layer_norm import layer_norm
from transformer_edu.book.exercises.checks.components.multi_head_split import merge_heads, split_heads
from transformer_edu.book.exercises.checks.components.target_mask import both_masks
from transformer_edu.book.exercises.checks.engine import CheckFailed
from transformer_edu.book.exercises.checks.engine.compare import Unfit, agree, as_tensor, read_tensor, same_numbers
from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.checks.engine.side_effects import gradients
from transformer_edu.config import TransformerConfig, build_decoder_layer, build_encoder_layer
from transformer_edu.decoder import Decoder
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.models.blocks import build_layer
from transformer_edu.models.gpt import GPT, GPTConfig
from transformer_edu.normalization import LayerNorm
from transformer_edu.positional import PositionalEncoding, sinusoidal_table
from transformer_edu.residual import ResidualConnection
from transformer_edu.transformer import Transformer

TOLERANCE, GRADIENTS = 1e-4, 1e-2
D_MODEL, HEADS, D_FF = 12, 2, 20  # no two of √d_model, √d_head, d_head / 2, log₂ d_head, heads are the same number
SMALL = 1e-3  # makes variances about as small as a norm's ε
SOURCE, TARGET = torch.tensor([[5, 8, 9, 3], [5, 9, 0, 0]]), torch.tensor([[1, 4, 2], [1, 6, 0]])
HIDDEN, CAUSAL = padding_mask(SOURCE, 0), causal_mask(3) & padding_mask(TARGET, 0)
BLIND = torch.tensor([[True, False, False, False], [False] * 4, [True] * 4])  # the second query may look at nothing


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


INPUTS = {"x": _random(2, 3, D_MODEL), "memory": _random(2, 4, D_MODEL), "value": _random(2, 4, D_MODEL).flip(0)}
GAMMA, BETA = _random(D_MODEL), 1 - _random(D_MODEL)


@dataclass(frozen=True)
class Part:
    """A part of the machine: the package's, what both are asked, and how a class is built (None: a function).

    ask(part, x, memory, value) gives the answer; it uses of the inputs what the part needs.
    """

    ours: Callable[..., Any]
    ask: Callable[..., Any]
    check: str = ""  # the one that names the mistake: checks.check_...
    build: Callable[[Any], nn.Module] | None = None


def _our_transformer(source_size: int, target_size: int, d_model: int, heads: int, d_ff: int, layers: int) -> nn.Module:
    return Transformer(TransformerConfig(source_size, target_size, d_model, heads, d_ff, layers, dropout=0.0))


def _our_gpt(vocab_size: int, d_model: int, heads: int, d_ff: int, layers: int, max_len: int) -> nn.Module:
    return GPT(GPTConfig(vocab_size, d_model, heads, d_ff, layers, dropout=0.0, max_len=max_len, pad_id=0))


def _our_block(d_model: int, heads: int, d_ff: int) -> nn.Module:
    return build_layer(GPTConfig(9, d_model, heads, d_ff, dropout=0.0), pre=True)


def _layers(kind: Callable[..., nn.Module]) -> list[nn.Module]:
    return [kind(D_MODEL, HEADS, D_FF) for _ in range(2)]


class Incomplete(Unfit):
    """An answer that may be right, of which the machine needs more; the check of the part finds nothing wrong."""


def _both(answer: Any) -> Tensor:
    """The output and the weights of an attention, side by side."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise Incomplete(
            "returns the output alone; other parts of the machine read the weights too: return (output, weights)"
        )
    return torch.cat([read_tensor(item).flatten() for item in answer])


def _in_two_sizes(fn: Callable[[Tensor], Any], x: Tensor) -> Tensor:
    """Of ordinary tokens, and of tokens so small that a norm's ε counts."""
    return torch.cat([read_tensor(fn(x)), read_tensor(fn(SMALL * x))])


FUNCTIONS = {
    "sinusoidal_table": Part(sinusoidal_table, lambda fn, *_: fn(6, D_MODEL), "sinusoidal_table"),
    "layer_norm": Part(layer_norm, lambda fn, x, *_: _in_two_sizes(lambda v: fn(v, GAMMA, BETA), x), "layer_norm"),
    "attention": Part(
        scaled_dot_product_attention,
        lambda fn, x, memory, value: torch.cat([_both(fn(x, memory, value, BLIND)), _both(fn(x, memory, value))]),
        "scaled_dot_product_attention",
    ),
    "split_heads": Part(split_heads, lambda fn, x, *_: fn(x, HEADS), "multi_head_split"),
    "merge_heads": Part(merge_heads, lambda fn, x, *_: fn(split_heads(x, HEADS)), "multi_head_split"),
    "target_mask": Part(
        both_masks, lambda fn, *_: torch.as_tensor(fn(TARGET, 0)).expand(2, 1, 3, 3).double(), "target_mask"
    ),
}
CLASSES = {
    "InputEmbedding": Part(
        InputEmbedding, lambda part, *_: part(SOURCE), "input_embedding", lambda kind: kind(10, D_MODEL)
    ),
    "PositionalEncoding": Part(
        PositionalEncoding, lambda part, x, *_: part(x, offset=2), "positional_encoding", lambda kind: kind(D_MODEL, 20)
    ),
    "LayerNorm": Part(LayerNorm, lambda part, x, *_: _in_two_sizes(part, x), "layer_norm", lambda kind: kind(D_MODEL)),
    "MultiHeadAttention": Part(
        MultiHeadAttention,
        lambda part, x, memory, value: part(x, memory, value, BLIND),
        build=lambda kind: kind(D_MODEL, HEADS),
    ),
    "PositionwiseFeedForward": Part(
        PositionwiseFeedForward, lambda part, x, *_: part(10 * x), "feed_forward", lambda kind: kind(D_MODEL, D_FF)
    ),
    "ResidualConnection": Part(
        lambda d_model: ResidualConnection(LayerNorm(d_model)),
        lambda part, x, *_: _in_two_sizes(lambda v: part(v, torch.tanh), x),
        "residual",
        lambda kind: kind(D_MODEL),
    ),
    "EncoderLayer": Part(
        build_encoder_layer,
        lambda part, x, memory, *_: part(memory, HIDDEN),
        "encoder_layer",
        lambda kind: kind(D_MODEL, HEADS, D_FF),
    ),
    "Encoder": Part(
        Encoder, lambda part, x, memory, *_: part(memory, HIDDEN), build=lambda kind: kind(_layers(build_encoder_layer))
    ),
    "DecoderLayer": Part(
        build_decoder_layer,
        lambda part, x, memory, *_: part(x, memory, CAUSAL, HIDDEN),
        "decoder_layer",
        lambda kind: kind(D_MODEL, HEADS, D_FF),
    ),
    "Decoder": Part(
        Decoder,
        lambda part, x, memory, *_: part(x, memory, CAUSAL, HIDDEN),
        build=lambda kind: kind(_layers(build_decoder_layer)),
    ),
    "ProjectionLayer": Part(ProjectionLayer, lambda part, x, *_: part(x), build=lambda kind: kind(D_MODEL, 7)),
    "Transformer": Part(
        _our_transformer,
        lambda part, *_: part(SOURCE, TARGET),
        "transformer",
        lambda kind: kind(10, 7, D_MODEL, HEADS, D_FF, 2),
    ),
    "GPTBlock": Part(
        _our_block,
        lambda part, x, *_: part(10 * x, causal_mask(3)),
        "gpt_block",
        lambda kind: kind(D_MODEL, HEADS, D_FF),
    ),
    "GPT": Part(_our_gpt, lambda part, *_: part(SOURCE[:1]), build=lambda kind: kind(10, D_MODEL, HEADS, D_FF, 2, 6)),
}
PARTS = FUNCTIONS | CLASSES


def check_fit(*definitions: Any) -> None:
    """Hold parts of your own against the package's of the same name; print a line for each.

    A class is built as the package's is and given the package's weights, by name, so that the shipped weights will
    find their places in it, too. A function is called with the same arguments.

    Args:
        *definitions: functions and classes, named as in the package: InputEmbedding, LayerNorm, attention, ...

    Raises:
        CheckFailed: a weight has no place, or answers or gradients differ; the message says which check names the
            mistake.
        ValueError: the machine has no part of that name.
        TypeError: something is neither a function nor a class.
    """
    for definition in definitions:
        name = _name_of(definition)
        if name not in PARTS:
            raise ValueError(f"definitions must be named like parts of the machine ({', '.join(PARTS)}), got {name!r}")
        part = PARTS[name]
        with laboratory():
            yours, ours = (definition, part.ours) if part.build is None else _built(name, definition, part, part.build)
            _compare(name, yours, ours, part)
            _compare_gradients(name, yours, ours, part)
        weights = "same answers" if part.build is None else "same weights, same answers"
        print(f"✓ {name} fits: {weights} as the package's")


def _name_of(definition: Any) -> str:
    if not callable(definition) or not hasattr(definition, "__name__"):
        raise TypeError(f"definitions must be functions and classes, got {definition!r}")
    return str(definition.__name__)


def _built(
    name: str, definition: Callable[..., Any], part: Part, build: Callable[[Any], nn.Module]
) -> tuple[nn.Module, nn.Module]:
    """A module of the reader's class and one of the package's, with the same weights."""
    torch.manual_seed(0)
    ours = build(part.ours).eval()
    with torch.no_grad():
        for parameter in ours.parameters():  # none of them 0 or 1, which would hide an exchange
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    try:
        yours = build(definition)
    except Exception as error:
        raise _failure(name, f"It cannot be built: {type(error).__name__}: {error}", part) from None
    if not isinstance(yours, nn.Module):
        raise _failure(name, f"It makes a {type(yours).__name__}, not an nn.Module.", part)
    _give_weights(name, yours, ours, part)
    return yours.eval(), ours


def _give_weights(name: str, yours: nn.Module, ours: nn.Module, part: Part) -> None:
    """Copy the weights by name, or say which have no place."""
    wanted, found = ({key: tuple(value.shape) for key, value in m.state_dict().items()} for m in (ours, yours))
    if wanted != found:
        lines = [f"`{key}` {shape} has no place in yours" for key, shape in wanted.items() if key not in found]
        lines += [f"`{key}` {shape} is only in yours" for key, shape in found.items() if key not in wanted]
        lines += [
            f"`{key}` is {found[key]} in yours and {shape} in the package"
            for key, shape in wanted.items()
            if found.get(key, shape) != shape
        ]
        more = [f"... and {len(lines) - 6} more"] if len(lines) > 6 else []
        hint = "A weight is found by the names of its attributes; a table that is not learned has persistent=False."
        raise _failure(name, "\n    ".join(["Its weights are not the package's:", *lines[:6], *more, hint]), part)
    twice = _shared(yours)
    if twice and not _shared(ours):
        names = ", ".join(f"`{key}`" for key in twice)
        text = f"{names} are one and the same weight in yours. Two parts that learn apart are made by two calls."
        raise _failure(name, text, part)
    yours.load_state_dict(ours.state_dict())


def _shared(module: nn.Module) -> list[str]:
    """The names of the first parameter that has several."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return next((several for several in names.values() if len(several) > 1), [])


def _copies() -> list[Tensor]:
    return [value.clone() for value in INPUTS.values()]


def _compare(name: str, yours: Any, ours: Any, part: Part) -> None:
    with torch.no_grad():
        expected = as_tensor(part.ask(ours, *_copies()))
        try:
            got = as_tensor(part.ask(yours, *_copies()))
        except Incomplete as finding:
            raise _failure(name, f"It {finding}.") from None
        except Unfit as finding:
            raise _failure(name, f"It {finding}.", part) from None
        except Exception as error:
            raise _failure(name, f"It raises {type(error).__name__}: {error}", part) from None
    if got.shape != expected.shape:
        text = f"Its answer has the shape {tuple(got.shape)}, the package's {tuple(expected.shape)}."
        raise _failure(name, text, part)
    if not same_numbers(got, expected, TOLERANCE):
        largest = float((got - expected).abs().max())
        raise _failure(name, f"Its answer differs from the package's, by up to {largest:.4f}.", part)


def _compare_gradients(name: str, yours: Any, ours: Any, part: Part) -> None:
    """The answers are the same: is what training makes of them, too?"""
    expected, got = (_gradients_by_name(part, model) for model in (ours, yours))
    compared = {key: value for key, value in expected.items() if isinstance(value, Tensor)}
    lost = {key: got.get(key, "none") for key, value in compared.items() if not agree(value, got.get(key), GRADIENTS)}
    if lost:
        key, found = next(iter(lost.items()))
        text = f"Its answer is the package's, the gradient of {key} is not: "
        raise _failure(name, text + (f"it is {found}." if isinstance(found, str) else "it is another one."), part)


def _gradients_by_name(part: Part, model: Any) -> dict[str, Any]:
    """Of the inputs and of the weights."""
    leaves = {key: value.clone().requires_grad_() for key, value in INPUTS.items()}
    inputs = [leaf.clone() for leaf in leaves.values()]
    if isinstance(model, nn.Module):
        leaves |= {f"`{key}`": value for key, value in model.named_parameters() if value.requires_grad}
    try:
        answer = read_tensor(part.ask(model, *inputs))
    except RuntimeError:  # numpy, which a gradient forbids
        return {}
    return dict(zip(leaves, gradients(answer, list(leaves.values())), strict=True))


def _failure(name: str, text: str, part: Part | None = None) -> CheckFailed:
    ask = f"\n    Which mistake is it? Ask checks.check_{part.check}." if part and part.check else ""
    return CheckFailed(f"✗ {name} does not fit into the machine\n\n    {text}{ask}", name, "fit")
