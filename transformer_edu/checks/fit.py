"""Does a part that a reader wrote fit into the machine? Same weights, by the same names; same answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.attention import MultiHeadAttention, scaled_dot_product_attention
from transformer_edu.checks.components.layer_norm import layer_norm
from transformer_edu.checks.components.multi_head_split import merge_heads, split_heads
from transformer_edu.checks.engine import CheckFailed
from transformer_edu.checks.engine.compare import Unfit, as_tensor, same_numbers
from transformer_edu.checks.engine.laboratory import laboratory
from transformer_edu.decoder import Decoder, DecoderLayer
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.normalization import LayerNorm
from transformer_edu.positional import PositionalEncoding, sinusoidal_table
from transformer_edu.residual import ResidualConnection
from transformer_edu.transformer import Transformer, TransformerConfig

TOLERANCE = 1e-4
D_MODEL, HEADS, D_FF = 8, 2, 16
SOURCE, TARGET = torch.tensor([[5, 8, 9, 3], [5, 9, 0, 0]]), torch.tensor([[1, 4, 2], [1, 6, 0]])
HIDDEN, CAUSAL = padding_mask(SOURCE, 0), causal_mask(3) & padding_mask(TARGET, 0)
BLIND = torch.tensor([[True, False, False, False], [False] * 4, [True] * 4])  # the second query may look at nothing


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


X, MEMORY = _random(2, 3, D_MODEL), _random(2, 4, D_MODEL)


@dataclass(frozen=True)
class Part:
    """A class of the machine: how both are built, and what both are asked."""

    ours: Callable[..., nn.Module]
    sizes: tuple[Any, ...]
    ask: Callable[[Any], Tensor]
    theirs: tuple[Any, ...] | None = None  # what the reader's class is built from, where that differs
    exercise: str = ""  # the check that names the mistake


def _our_transformer() -> nn.Module:
    return Transformer(TransformerConfig(10, 7, d_model=D_MODEL, num_heads=HEADS, d_ff=D_FF, num_layers=2, dropout=0.0))


def _layers(kind: Callable[..., nn.Module]) -> list[nn.Module]:
    return [kind(D_MODEL, HEADS, D_FF) for _ in range(2)]


CLASSES: dict[str, Part] = {
    "InputEmbedding": Part(InputEmbedding, (10, D_MODEL), lambda part: part(SOURCE), exercise="input_embedding"),
    "PositionalEncoding": Part(
        PositionalEncoding, (D_MODEL, 20), lambda part: part(X, offset=2), exercise="positional_encoding"
    ),
    "LayerNorm": Part(LayerNorm, (D_MODEL,), lambda part: part(X), exercise="layer_norm"),
    "MultiHeadAttention": Part(MultiHeadAttention, (D_MODEL, HEADS), lambda part: part(X, MEMORY, MEMORY, BLIND)),
    "PositionwiseFeedForward": Part(
        PositionwiseFeedForward, (D_MODEL, D_FF), lambda part: part(X), exercise="feed_forward"
    ),
    "ResidualConnection": Part(ResidualConnection, (D_MODEL,), lambda part: part(X, torch.tanh), exercise="residual"),
    "EncoderLayer": Part(
        EncoderLayer, (D_MODEL, HEADS, D_FF), lambda part: part(MEMORY, HIDDEN), exercise="encoder_layer"
    ),
    "Encoder": Part(Encoder, (_layers(EncoderLayer),), lambda part: part(MEMORY, HIDDEN)),
    "DecoderLayer": Part(
        DecoderLayer, (D_MODEL, HEADS, D_FF), lambda part: part(X, MEMORY, CAUSAL, HIDDEN), exercise="decoder_layer"
    ),
    "Decoder": Part(Decoder, (_layers(DecoderLayer),), lambda part: part(X, MEMORY, CAUSAL, HIDDEN)),
    "ProjectionLayer": Part(ProjectionLayer, (D_MODEL, 7), lambda part: part(X)),
    "Transformer": Part(
        _our_transformer, (), lambda part: part(SOURCE, TARGET), (10, 7, D_MODEL, HEADS, D_FF, 2), "transformer"
    ),
}


def _target_mask(ids: Tensor, pad_id: int) -> Tensor:
    return causal_mask(ids.shape[1]) & padding_mask(ids, pad_id)


def _both(answer: Any) -> Tensor:
    """The output and the weights of an attention, side by side."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise Unfit("returned one thing, expected two: the output and the weights")
    return torch.cat([as_tensor(one).flatten() for one in answer])


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], str]] = {
    "sinusoidal_table": (sinusoidal_table, lambda fn: fn(6, D_MODEL), "sinusoidal_table"),
    "layer_norm": (layer_norm, lambda fn: fn(X, X[0, 0], X[0, 1]), "layer_norm"),
    "attention": (
        scaled_dot_product_attention,
        lambda fn: torch.cat([_both(fn(X, MEMORY, MEMORY, BLIND)), _both(fn(X, MEMORY, MEMORY))]),
        "scaled_dot_product_attention",
    ),
    "split_heads": (split_heads, lambda fn: fn(X, HEADS), "multi_head_split"),
    "merge_heads": (merge_heads, lambda fn: fn(_random(2, HEADS, 3, 4)), "multi_head_split"),
    "target_mask": (
        _target_mask,
        lambda fn: torch.as_tensor(fn(TARGET, 0)).expand(2, 1, 3, 3).double(),
        "target_mask",
    ),
}


def check_fit(*definitions: Any) -> None:
    """Hold parts of your own against the package's of the same name; print a line for each.

    A class is built as the package's is and given the package's weights, by name, so that the shipped weights will
    find their places in it, too. A function is called with the same arguments.

    Args:
        *definitions: functions and classes, named as in the package: InputEmbedding, LayerNorm, attention, ...

    Raises:
        CheckFailed: a weight has no place, or the answers differ; the message says which check names the mistake.
        ValueError: the machine has no part of that name.
        TypeError: something is neither a function nor a class.
    """
    for definition in definitions:
        name = _name_of(definition)
        if name not in CLASSES and name not in FUNCTIONS:
            parts = ", ".join([*FUNCTIONS, *CLASSES])
            raise ValueError(f"definitions must be named like parts of the machine ({parts}), got {name!r}")
        with laboratory():
            (_check_class if name in CLASSES else _check_function)(name, definition)
        weights = "same weights, same answers" if name in CLASSES else "same answers"
        print(f"✓ {name} fits: {weights} as the package's")


def _name_of(definition: Any) -> str:
    if not callable(definition) or not hasattr(definition, "__name__"):
        raise TypeError(f"definitions must be functions and classes, got {definition!r}")
    return str(definition.__name__)


def _check_class(name: str, definition: Any) -> None:
    part = CLASSES[name]
    torch.manual_seed(0)
    ours = part.ours(*part.sizes).eval()
    with torch.no_grad():
        for parameter in ours.parameters():  # none of them 0 or 1, which would hide an exchange
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    try:
        yours = definition(*(part.sizes if part.theirs is None else part.theirs))
    except Exception as error:
        raise _failure(name, f"It cannot be built: {type(error).__name__}: {error}", part.exercise) from None
    if not isinstance(yours, nn.Module):
        raise _failure(name, f"It makes a {type(yours).__name__}, not an nn.Module.", part.exercise)
    _give_weights(name, yours, ours, part.exercise)
    _compare(name, part.ask, yours.eval(), ours, part.exercise)


def _give_weights(name: str, yours: nn.Module, ours: nn.Module, exercise: str) -> None:
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
        raise _failure(name, "\n    ".join(["Its weights are not the package's:", *lines[:6], *more, hint]), exercise)
    yours.load_state_dict(ours.state_dict())


def _check_function(name: str, definition: Any) -> None:
    ours, ask, exercise = FUNCTIONS[name]
    _compare(name, ask, definition, ours, exercise)


def _compare(name: str, ask: Callable[[Any], Any], yours: Any, ours: Any, exercise: str) -> None:
    with torch.no_grad():
        expected = as_tensor(ask(ours))
        try:
            got = as_tensor(ask(yours))
        except Unfit as finding:
            raise _failure(name, f"It {finding}.", exercise) from None
        except Exception as error:
            raise _failure(name, f"It raises {type(error).__name__}: {error}", exercise) from None
    if got.shape != expected.shape:
        text = f"Its answer has the shape {tuple(got.shape)}, the package's {tuple(expected.shape)}."
        raise _failure(name, text, exercise)
    if not same_numbers(got, expected, TOLERANCE):
        largest = float((got - expected).abs().max())
        raise _failure(name, f"Its answer differs from the package's, by up to {largest:.4f}.", exercise)


def _failure(name: str, text: str, exercise: str) -> CheckFailed:
    ask = f"\n    Which mistake is it? Ask checks.check_{exercise}." if exercise else ""
    return CheckFailed(f"✗ {name} does not fit into the machine\n\n    {text}{ask}", name, "fit")
