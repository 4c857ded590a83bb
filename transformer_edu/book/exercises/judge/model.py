"""The machine as functions of its weights: every step can be replaced, by a known mistake for example."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu

from transformer_edu.book.exercises.checks.components.decoder_layer import decoder_layer
from transformer_edu.book.exercises.checks.components.encoder_layer import encoder_layer
from transformer_edu.book.exercises.checks.components.feed_forward import feed_forward, network
from transformer_edu.book.exercises.checks.components.layer_norm import layer_norm
from transformer_edu.book.exercises.checks.components.multi_head_split import merge_heads, split_heads
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.positional import sinusoidal_table


@dataclass(frozen=True)
class Affine:
    """x W + b, with `weight` (in, out)."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)."""
        product = x @ self.weight
        return product if self.bias is None else product + self.bias


@dataclass(frozen=True)
class Heads:
    """The four projections of multi-head attention; without an output projection, `output` is None."""

    query: Affine
    key: Affine
    value: Affine
    output: Affine | None


@dataclass(frozen=True)
class Gain:
    """What a norm has learned: γ and β, both (d_model,)."""

    gamma: Tensor
    beta: Tensor


@dataclass(frozen=True)
class Layer:
    """The weights of an encoder layer, or of a decoder layer where `cross` is not None."""

    self_attention: Heads
    cross: Heads | None
    inner: Affine
    outer: Affine
    norms: tuple[Gain, ...]


@dataclass(frozen=True)
class Machine:
    """The weights of a whole Transformer; `source` and `target` are tables (vocab, d_model)."""

    source: Tensor
    target: Tensor
    encoder: tuple[Layer, ...]
    decoder: tuple[Layer, ...]
    projection: Affine
    final: tuple[Gain, ...] = ()


FEED_FORWARDS: list[tuple[str, Callable[..., Tensor]]] = [  # right ones, with what is remarked of each
    ("", feed_forward),
    ("GELU stands where the paper has ReLU", partial(network, inside=gelu)),
    ("GELU (by tanh) stands where the paper has ReLU", partial(network, inside=partial(gelu, approximate="tanh"))),
]


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Equation 1; what may look at nothing gets zeros."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1).masked_fill(~mask, 0.0) @ value


def pre_norm_encoder(x: Tensor, attend: Any, feed_forward: Any, norms: Any) -> Tensor:
    """The later arrangement: each part reads a normalized x."""
    y = x + attend(norms[0](x))
    return y + feed_forward(norms[1](y))


def pre_norm_decoder(
    x: Tensor, memory: Tensor, self_attention: Any, cross_attention: Any, feed_forward: Any, norms: Any
) -> Tensor:
    """The later arrangement: each part reads a normalized x; the memory stays as it is."""
    h = norms[0](x)
    y = x + self_attention(h, h, h)
    z = y + cross_attention(norms[1](y), memory, memory)
    return z + feed_forward(norms[2](z))


@dataclass(frozen=True)
class Steps:
    """Each step of the machine, as a function; the defaults are right."""

    attend: Callable[..., Any] = attend
    split: Callable[[Tensor, int], Tensor] = split_heads
    merge: Callable[[Tensor], Tensor] = merge_heads
    project: Callable[..., tuple[Tensor, Tensor, Tensor]] = field(
        default=lambda heads, query, key, value: (heads.query(query), heads.key(key), heads.value(value))
    )
    output: Callable[[Heads, Tensor], Tensor] = field(
        default=lambda heads, merged: merged if heads.output is None else heads.output(merged)
    )
    mask: Callable[[Tensor | None], Tensor | None] = field(default=lambda mask: mask)
    feed_forward: Callable[..., Tensor] = feed_forward
    norm: Callable[..., Tensor] = layer_norm
    encoder_layer: Callable[..., Tensor] = encoder_layer
    decoder_layer: Callable[..., Tensor] = decoder_layer
    self_mask: Callable[..., Tensor | None] = field(default=lambda target, memory: target)
    cross_mask: Callable[..., Tensor | None] = field(default=lambda target, memory: memory)
    embed: Callable[[Tensor, Tensor], Tensor] = field(default=lambda table, ids: table[ids] * math.sqrt(table.shape[1]))
    table: Callable[[int, int], Tensor] = sinusoidal_table
    place: Callable[[Tensor, Tensor], Tensor] = field(default=lambda x, table: x + table[: x.shape[1]].to(x.dtype))
    place_target: Callable[[Tensor, Tensor], Tensor] | None = None  # None: as for the source
    source_mask: Callable[[Tensor, int], Tensor | None] = padding_mask
    target_mask: Callable[[Tensor, int], Tensor | None] = field(
        default=lambda ids, pad_id: causal_mask(ids.shape[1]) & padding_mask(ids, pad_id)
    )
    memory_mask: Callable[[Tensor, int], Tensor | None] = padding_mask
    memory: Callable[[Tensor, list[Tensor]], Tensor] = field(default=lambda last, layers: last)
    logits: Callable[[Tensor], Tensor] = field(default=lambda logits: logits)


def multi_head(
    steps: Steps, heads: Heads, num_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """(batch, len, d_model) -> (batch, q_len, d_model)."""
    q, k, v = (steps.split(x, num_heads) for x in steps.project(heads, query, key, value))
    answer = steps.attend(q, k, v, steps.mask(mask))
    answer = answer[0] if isinstance(answer, tuple) else answer
    return steps.output(heads, steps.merge(answer))


def _norms(steps: Steps, gains: tuple[Gain, ...]) -> tuple[Callable[[Tensor], Tensor], ...]:
    return tuple(lambda x, gain=gain: steps.norm(x, gain.gamma, gain.beta) for gain in gains)


def of_equation_two(inner: Affine, outer: Affine) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W₁, b₁, W₂ and b₂; a bias that is not there is zero."""
    biases = [
        part.weight.new_zeros(part.weight.shape[1]) if part.bias is None else part.bias for part in (inner, outer)
    ]
    return inner.weight, biases[0], outer.weight, biases[1]


def _think(steps: Steps, layer: Layer) -> Callable[[Tensor], Tensor]:
    weights = of_equation_two(layer.inner, layer.outer)
    return lambda x: steps.feed_forward(x, *weights)


def encode_layer(steps: Steps, layer: Layer, num_heads: int, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """(batch, seq, d_model) -> the same shape."""

    def attend_to_itself(x: Tensor) -> Tensor:
        return multi_head(steps, layer.self_attention, num_heads, x, x, x, mask)

    return steps.encoder_layer(x, attend_to_itself, _think(steps, layer), _norms(steps, layer.norms))


def decode_layer(
    steps: Steps,
    layer: Layer,
    num_heads: int,
    x: Tensor,
    memory: Tensor,
    target_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
) -> Tensor:
    """(batch, seq, d_model) and (batch, source_seq, d_model) -> (batch, seq, d_model)."""
    cross = layer.cross
    assert cross is not None
    masks = steps.self_mask(target_mask, memory_mask), steps.cross_mask(target_mask, memory_mask)

    def looking(heads: Heads, mask: Tensor | None) -> Callable[..., Tensor]:
        return lambda q, k, v: multi_head(steps, heads, num_heads, q, k, v, mask)

    return steps.decoder_layer(
        x,
        memory,
        looking(layer.self_attention, masks[0]),
        looking(cross, masks[1]),
        _think(steps, layer),
        _norms(steps, layer.norms),
    )


def translate(steps: Steps, machine: Machine, num_heads: int, pad_id: int, source: Tensor, target: Tensor) -> Tensor:
    """Ids (batch, len) of both languages -> logits (batch, target_len, target_vocab)."""
    table = steps.table(max(source.shape[1], target.shape[1]), machine.source.shape[1])
    norms = _norms(steps, machine.final)
    x = steps.place(steps.embed(machine.source, source), table)
    seen, mask = [x], steps.source_mask(source, pad_id)
    for layer in machine.encoder:
        x = encode_layer(steps, layer, num_heads, x, mask)
        seen.append(x)
    memory = steps.memory(x, seen)
    memory = norms[0](memory) if norms else memory
    y = (steps.place_target or steps.place)(steps.embed(machine.target, target), table)
    masks = steps.target_mask(target, pad_id), steps.memory_mask(source, pad_id)
    for layer in machine.decoder:
        y = decode_layer(steps, layer, num_heads, y, memory, *masks)
    return steps.logits(machine.projection(norms[1](y) if norms else y))
