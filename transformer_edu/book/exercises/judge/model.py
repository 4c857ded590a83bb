"""The machine as functions of its weights: every step can be replaced, by a known mistake for example."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from itertools import product
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu, silu

from transformer_edu.book.exercises.checks.components.decoder_layer import decoder_layer
from transformer_edu.book.exercises.checks.components.encoder_layer import encoder_layer
from transformer_edu.book.exercises.checks.components.feed_forward import feed_forward, network
from transformer_edu.book.exercises.checks.components.layer_norm import norm
from transformer_edu.book.exercises.checks.components.multi_head_split import merge_heads, split_heads
from transformer_edu.book.exercises.judge.kind import Parameters
from transformer_edu.book.exercises.judge.numbers import Reference
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.parts.linear_biases import slopes_of
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
    gains: "tuple[Gain, Gain] | None" = None  # of the norms of queries and of keys


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
    gate: Affine | None = None


@dataclass(frozen=True)
class Machine:
    """The weights of a whole Transformer; `source` and `target` are tables (vocab, d_model)."""

    source: Tensor
    target: Tensor
    encoder: tuple[Layer, ...]
    decoder: tuple[Layer, ...]
    projection: Affine
    final: tuple[Gain, ...] = ()
    opened: tuple[Gain, ...] = ()
    places: tuple[Tensor, ...] = ()  # learned rows for the places of a source and of a target


def rms_norm(x: Tensor, gamma: Tensor, eps: float = 1e-5) -> Tensor:
    """In float64: the yardstick."""
    x64 = x.double()
    return (gamma * x64 / torch.sqrt((x64**2).mean(-1, keepdim=True) + eps)).to(x.dtype)


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """In float64: the yardstick."""
    x64 = x.double()
    centred = x64 - x64.mean(-1, keepdim=True)
    return (gamma * centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + eps) + beta).to(x.dtype)


def _small(norm: Callable[..., Tensor], eps: float, count: int) -> Callable[..., Tensor]:
    return lambda x, gamma, beta: norm(x, *(gamma, beta)[:count], eps=eps)


RMS = "RMS norm stands where the paper has layer norm"
norm_by_spread = partial(norm, correction=1, outside=True)
SPREAD = "its norms divide by n − 1 and add ε outside the root, as in the Annotated Transformer"
NORMS: list[tuple[str, Callable[..., Tensor]]] = [  # right ones, with what is remarked of each
    (remark, _small(function, eps, count))
    for remark, function, count in (("", layer_norm, 2), (RMS, rms_norm, 1), (SPREAD, norm_by_spread, 2))
    for eps in (1e-5, 1e-6, 1e-12)
]
BY_TANH = partial(gelu, approximate="tanh")
FEED_FORWARDS: list[tuple[str, Callable[..., Tensor]]] = [  # right ones, with what is remarked of each
    ("", feed_forward),
    ("GELU stands where the paper has ReLU", partial(network, inside=gelu)),
    ("GELU (by tanh) stands where the paper has ReLU", partial(network, inside=BY_TANH)),
    ("SiLU stands where the paper has ReLU (as in Marian)", partial(network, inside=silu)),
]


def look_up(table: Tensor, ids: Tensor) -> Tensor:
    """Embeddings that are not scaled."""
    return table[ids]


@lru_cache(maxsize=1 << 10)  # so that it is known again
def with_eps(norm: Callable[..., Tensor], eps: float) -> Callable[..., Tensor]:
    """A norm (x, gamma, beta, eps) with its epsilon."""
    return lambda x, gamma, beta: norm(x, gamma, beta, eps)


def gated(x: Tensor, gate: Affine, up: Affine, down: Affine, inside: Callable[[Tensor], Tensor] = silu) -> Tensor:
    """(act(x W_gate) ⊙ x W_up) W_down."""
    return down(inside(gate(x)) * up(x))


def inside_alone(mask: Tensor | None, size: int) -> Tensor:
    """What a block lets through that is causal by itself: also a mask that it is given."""
    later = causal_mask(size)
    return later if mask is None else later & mask


def by_norm(norm: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Queries and keys by this norm, with gains or without."""

    def sized(heads: Heads, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if heads.gains is None:
            one = torch.ones(())
            return norm(q, one), norm(k, one)
        return normed_heads(heads, q, k, norm)

    return sized


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, bias: Tensor | float = 0.0) -> Tensor:
    """Equation 1, with what may be added to its scores; what may look at nothing gets zeros."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]) + bias
    if mask is None:
        return scores.softmax(-1) @ value
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1).masked_fill(~mask, 0.0) @ value


def alibi(num_heads: int, length: int, slope: Callable[[int], Tensor] = slopes_of) -> Tensor:
    """−m (q − k) for each head's slope m: (heads, length, length)."""
    place = torch.arange(length)
    return slope(num_heads)[:, None, None] * (place[None, :] - place[:, None])


even_alibi = partial(alibi, slope=lambda heads: 2.0 ** (-8 / heads * torch.arange(1, heads + 1)))


def attend_nearby(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    biases: Callable[..., Tensor] = alibi,
    early: bool = False,  # before the division
) -> Tensor:
    """Equation 1 with ALiBi: each score is lowered by the distance, later keys as earlier ones."""
    nearer = biases(*key.shape[1:3]).to(key.dtype).tril() / (math.sqrt(key.shape[-1]) if early else 1.0)
    return attend(query, key, value, mask, nearer + nearer.tril(-1).transpose(1, 2))


def normed_heads(
    heads: Heads, q: Tensor, k: Tensor, norm: Callable[[Tensor, Tensor], Tensor] = rms_norm
) -> tuple[Tensor, Tensor]:
    """Queries and keys (batch, heads, seq, d_head) by their gains: each head's numbers, or those of all together."""

    def one(x: Tensor, gamma: Tensor) -> Tensor:
        if gamma.dim() == 2:
            return norm(x, gamma[:, None])
        if gamma.dim() and len(gamma) != x.shape[-1]:
            return split_heads(norm(merge_heads(x), gamma), x.shape[1])
        return norm(x, gamma)

    return (q, k) if heads.gains is None else (one(q, heads.gains[0].gamma), one(k, heads.gains[1].gamma))


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


def norms_around(x: Tensor, attend: Any, feed_forward: Any, norms: Any) -> Tensor:
    """Four norms: one before and one behind each part."""
    y = x + norms[1](attend(norms[0](x)))
    return y + norms[3](feed_forward(norms[2](y)))


@dataclass(frozen=True)
class Steps:
    """Each step of the machine, as a function; the defaults are right. `norms` is how many an encoder layer has."""

    norms: int = 2
    attend: Callable[..., Any] = attend
    split: Callable[[Tensor, int], Tensor] = split_heads
    merge: Callable[[Tensor], Tensor] = merge_heads
    project: Callable[..., tuple[Tensor, Tensor, Tensor]] = field(
        default=lambda heads, query, key, value: (heads.query(query), heads.key(key), heads.value(value))
    )
    turn: Callable[[Tensor], Tensor] = field(default=lambda heads: heads)  # queries and keys
    sized: Callable[..., tuple[Tensor, Tensor]] = normed_heads  # queries and keys, before they turn
    latent: Callable[..., tuple[Tensor, Any]] = field(default=lambda latent, turned, gain: (latent, turned))
    join: Callable[..., tuple[Tensor, Tensor]] = field(default=lambda q, q_turned, k, k_turned, turn: (q, k))
    share: Callable[[Tensor, int], Tensor] = field(
        default=lambda heads, num_heads: heads.repeat_interleave(num_heads // heads.shape[1], dim=1)
    )
    output: Callable[[Heads, Tensor], Tensor] = field(
        default=lambda heads, merged: merged if heads.output is None else heads.output(merged)
    )
    mask: Callable[[Tensor | None], Tensor | None] = field(default=lambda mask: mask)
    see: Callable[[Tensor | None, int], Tensor | None] = inside_alone  # of a block without a memory
    feed_forward: Callable[..., Tensor] = feed_forward
    gated: Callable[..., Tensor] = gated
    norm: Callable[..., Tensor] = layer_norm
    encoder_layer: Callable[..., Tensor] = encoder_layer
    decoder_layer: Callable[..., Tensor] = decoder_layer
    decoder_weights: Callable[[Layer], Layer] = field(default=lambda layer: layer)
    self_mask: Callable[..., Tensor | None] = field(default=lambda target, memory, *sizes: target)
    cross_mask: Callable[..., Tensor | None] = field(default=lambda target, memory, *sizes: memory)
    embed: Callable[[Tensor, Tensor], Tensor] = field(default=lambda table, ids: table[ids] * math.sqrt(table.shape[1]))
    table: Callable[[int, int], Tensor] = sinusoidal_table
    place: Callable[[Tensor, Tensor], Tensor] = field(default=lambda x, table: x + table[: x.shape[1]].to(x.dtype))
    embed_target: Callable[[Tensor, Tensor], Tensor] | None = None  # None: as for the source
    place_target: Callable[[Tensor, Tensor], Tensor] | None = None  # None: as for the source
    source_mask: Callable[[Tensor, int], Tensor | None] = padding_mask
    target_mask: Callable[[Tensor, int], Tensor | None] = field(
        default=lambda ids, pad_id: causal_mask(ids.shape[1]) & padding_mask(ids, pad_id)
    )
    memory_mask: Callable[[Tensor, int], Tensor | None] = padding_mask
    memory: Callable[[Tensor, list[Tensor]], Tensor] = field(default=lambda last, layers: last)
    memory_of: Callable[[int, Tensor, list[Tensor]], Tensor] = field(default=lambda index, memory, layers: memory)
    of_block: Callable[[int, Tensor | None], Tensor | None] = field(default=lambda index, mask: mask)
    begin: Callable[[Any, Tensor], Tensor] = field(default=lambda norm, x: x)  # of a decoder-only model
    end: Callable[[Any, Tensor], Tensor] = field(default=lambda norm, x: norm(x))
    end_memory: Callable[[Any, Tensor], Tensor] = field(default=lambda norm, x: norm(x))
    between: Callable[[Any, Tensor], Tensor] = field(default=lambda norm, x: x)  # behind each of its blocks
    batch_first: bool = True  # of a block without a memory
    encoder_batch_first: bool = True  # else its tokens attend across the batch, and no mask fits
    logits: Callable[[Tensor], Tensor] = field(default=lambda logits: logits)


def multi_head(
    steps: Steps, heads: Heads, num_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """(batch, len, d_model) -> (batch, q_len, d_model)."""
    projected = steps.project(heads, query, key, value)
    width = projected[0].shape[-1]
    q, k, v = (steps.split(x, num_heads * x.shape[-1] // width) for x in projected)
    q, k = steps.sized(heads, q, k)
    q, k, v = steps.turn(q), steps.share(steps.turn(k), num_heads), steps.share(v, num_heads)
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
    if layer.gate is not None:
        return lambda x: steps.gated(x, layer.gate, layer.inner, layer.outer)
    weights = of_equation_two(layer.inner, layer.outer)
    return lambda x: steps.feed_forward(x, *weights)


def encode_layer(steps: Steps, layer: Layer, num_heads: int, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """(batch, seq, d_model) -> the same shape."""

    def attend_to_itself(x: Tensor, other: Tensor | None = None) -> Tensor:
        other = x if other is None else other
        return multi_head(steps, layer.self_attention, num_heads, x, other, other, mask)

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
    layer = steps.decoder_weights(layer)
    cross = layer.cross
    assert cross is not None
    sizes = x.shape[1], memory.shape[1]
    self_mask = steps.self_mask(target_mask, memory_mask, *sizes)
    cross_mask = steps.cross_mask(target_mask, memory_mask, *sizes)

    def looking(heads: Heads, mask: Tensor | None) -> Callable[..., Tensor]:
        return lambda q, k, v: multi_head(steps, heads, num_heads, q, k, v, mask)

    return steps.decoder_layer(
        x,
        memory,
        looking(layer.self_attention, self_mask),
        looking(cross, cross_mask),
        _think(steps, layer),
        _norms(steps, layer.norms),
    )


def translate(steps: Steps, machine: Machine, num_heads: int, pad_id: int, source: Tensor, target: Tensor) -> Tensor:
    """Ids (batch, len) of both languages -> logits (batch, target_len, target_vocab)."""
    table = steps.table(max(source.shape[1], target.shape[1]), machine.source.shape[1])
    tables = machine.places or (table, table)
    norms, opened = _norms(steps, machine.final), _norms(steps, machine.opened) or (lambda x: x, lambda x: x)
    x = opened[0](steps.place(steps.embed(machine.source, source), tables[0]))
    seen, mask = [x], steps.source_mask(source, pad_id)
    turned = partial(torch.transpose, dim0=0, dim1=1) if not steps.encoder_batch_first else lambda x: x
    for layer in machine.encoder:
        x = turned(encode_layer(steps, layer, num_heads, turned(x), mask if steps.encoder_batch_first else None))
        seen.append(x)
    memory = steps.memory(x, seen)
    memory = steps.end_memory(norms[0], memory) if norms else memory
    y = (steps.place_target or steps.place)((steps.embed_target or steps.embed)(machine.target, target), tables[1])
    y = opened[1](y)
    masks = steps.target_mask(target, pad_id), steps.memory_mask(source, pad_id)
    for index, layer in enumerate(machine.decoder):
        y = decode_layer(steps, layer, num_heads, y, steps.memory_of(index, memory, seen), *masks)
    return steps.logits(machine.projection(steps.end(norms[1], y) if norms else y))


def read_on(
    steps: Steps, p: Mapping[str, Tensor], style: "Style", layers: tuple[Layer, ...], heads: int, ids: Tensor
) -> Tensor:
    """A decoder-only model: ids (batch, seq) -> logits (batch, seq, vocab)."""
    x = steps.embed(p["table"], ids)
    if style.positions in ("learned", "sinusoidal"):
        x = steps.place(x, p["positions"] if "positions" in p else steps.table(ids.shape[1], x.shape[-1]))
    (norm,) = _norms(steps, (gain_of(p, "final."),))
    x = _norms(steps, (gain_of(p, "opened."),))[0](x) if style.opened else steps.begin(norm, x)
    seen, mask = [x], steps.see(None, ids.shape[1])
    for index, layer in enumerate(layers):
        x = steps.between(norm, encode_layer(steps, layer, heads, x, steps.of_block(index, mask)))
        seen.append(x)
    x = steps.memory(x, seen)
    x = steps.end(norm, x) if style.final else x
    return steps.logits(Affine(p.get("projection", p["table"].T), p.get("projection_bias"))(x))


# ------------------------------------------------------------------ with numbers to be found

Shapes = dict[str, tuple[int, ...]]
Parts = Mapping[str, Tensor]


@dataclass(frozen=True)
class Style:
    """Which of the numbers that may be left out a component has; the first of each is the paper's."""

    attention: str = "all"  # biases: "all", "none", "qkv" or "out"
    inner: str = "both"  # biases: "both", "none", "first" or "second"
    norm: str = "both"  # "both", "gain" or "none"
    projection: bool = False  # a bias of the last projection
    final: bool | str = False  # a norm behind each stack, as the others; or of its own kind, "both" or "gain"
    opened: bool = False  # a norm behind the embeddings of each side
    tied: str = ""  # "target", "source" or "all": which tables are one (with the last projection, with each other)
    gated: bool = False  # three matrices in the feed-forward part
    positions: str = ""  # "learned" (of both sides: "shared"), "sinusoidal", "nearby"; Q and K "turned", or a "part"
    norms: int = 2  # in a layer that reads x alone: 4 where one stands before and one behind each part
    normed: str = ""  # queries and keys, by gains: of a "head", of "all", of "each" head its own, "shared", or "bare"

    @property
    def kink(self) -> bool:
        """Whether a ReLU gets nothing but 0 where all numbers are the same: what a layer norm gives sums to 0."""
        return self.norm != "both" and self.inner in ("none", "second") and not self.gated


def styles(**ways: tuple[Any, ...]) -> list[Style]:
    """All styles with these ways to be."""
    return [Style(**dict(zip(ways, choice, strict=True))) for choice in product(*ways.values())]


IN_LAYERS = {"attention": ("all", "none", "qkv", "out"), "inner": ("both", "none"), "norm": ("both", "gain", "none")}
LAYERS = styles(**IN_LAYERS)
IN_MACHINES = IN_LAYERS | {"projection": (True, False), "final": (False, True)}
MACHINES = styles(**IN_MACHINES, tied=("", "target", "source", "all"), positions=("sinusoidal", "learned", "shared"))
MACHINES += [replace(style, opened=True) for style in MACHINES if style.norm == "both" and style.positions == "learned"]


def _at(start: str, shapes: Shapes) -> Shapes:
    return {f"{start}.{name}": shape for name, shape in shapes.items()}


def shapes_of_heads(d_model: int, num_heads: int, style: Style, num_kv_heads: int = 0) -> Shapes:
    """Of one attention's projections; keys and values may have fewer heads than queries."""
    d_head = d_model // num_heads
    each = {"q": num_heads, "k": num_kv_heads or num_heads, "v": num_kv_heads or num_heads}
    shapes: Shapes = {name: (d_model, count, d_head) for name, count in each.items()}
    shapes["o"] = (num_heads, d_head, d_model)
    if style.attention in ("all", "qkv"):
        shapes |= {f"{name}_bias": (count, d_head) for name, count in each.items()}
    if style.attention in ("all", "out"):
        shapes["o_bias"] = (d_model,)
    gains = {"head": ("q", "k"), "all": ("q", "k"), "each": ("q", "k"), "shared": ("q",)}.get(style.normed, ())
    lengths = {"all": (d_model,), "each": (num_heads, d_head)}.get(style.normed, (d_head,))
    return shapes | {f"{name}_gain": lengths for name in gains}


def shapes_of_inner(d_model: int, d_ff: int, style: Style) -> Shapes:
    """Of one feed-forward network."""
    shapes: Shapes = {"first": (d_model, d_ff), "second": (d_ff, d_model)}
    if style.gated:
        shapes["gate"] = (d_model, d_ff)
        shapes |= {"gate_bias": (d_ff,)} if style.inner == "both" else {}
    if style.inner in ("both", "first"):
        shapes["first_bias"] = (d_ff,)
    if style.inner in ("both", "second"):
        shapes["second_bias"] = (d_model,)
    return shapes


def shapes_of_norm(d_model: int, style: Style) -> Shapes:
    """Of one norm."""
    names = {"both": ("gain", "shift"), "gain": ("gain",), "none": ()}[style.norm]
    return dict.fromkeys(names, (d_model,))


def shapes_of_layer(sizes: Mapping[str, int], style: Style, cross: bool) -> Shapes:
    """Of one encoder layer, or decoder layer."""
    counts = sizes["d_model"], sizes["num_heads"], sizes.get("num_kv_heads", 0), sizes["d_ff"]
    return _shapes_of_layer(counts, cross, attrgetter(*OF_LAYERS)(style))


OF_LAYERS = "attention", "inner", "norm", "gated", "norms", "normed"  # what a layer's tensors depend on


@lru_cache(maxsize=1 << 14)
def _shapes_of_layer(counts: tuple[int, ...], cross: bool, ways: tuple[Any, ...]) -> Shapes:
    (d_model, num_heads, num_kv_heads, d_ff), style = counts, Style(**dict(zip(OF_LAYERS, ways, strict=True)))
    heads = shapes_of_heads(d_model, num_heads, style, num_kv_heads)
    shapes = _at("self", heads) | (_at("cross", heads) if cross else {})
    shapes |= _at("inner", shapes_of_inner(d_model, d_ff, style))
    for place in range(3 if cross else style.norms):
        shapes |= _at(f"norm{place}", shapes_of_norm(d_model, style))
    return shapes


PLACES = {"learned": ("source_places", "target_places"), "shared": ("source_places",)}


def shapes_of_machine(sizes: Mapping[str, Any], style: Style) -> Shapes:
    """Of a whole Transformer."""
    return _shapes_of_machine(_whole(sizes), style)


def _whole(sizes: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    return tuple((name, size) for name, size in sizes.items() if isinstance(size, int))


@lru_cache(maxsize=4 * len(MACHINES))
def _shapes_of_machine(named: tuple[tuple[str, int], ...], style: Style) -> Shapes:
    sizes = dict(named)
    d_model, source, target = sizes["d_model"], sizes["source_vocab"], sizes["target_vocab"]
    shapes: Shapes = {"target": (target, d_model)}
    if style.tied not in ("source", "all"):
        shapes["source"] = (source, d_model)
    if style.tied not in ("target", "all"):
        shapes["projection"] = (d_model, target)
    if style.projection:
        shapes["projection_bias"] = (target,)
    shapes |= dict.fromkeys(PLACES.get(style.positions, ()), (sizes["max_len"], d_model))
    for name, cross in (("encoder", False), ("decoder", True)):  # in the order in which they are usually made
        for place in range(sizes["num_layers"]):
            shapes |= _at(f"{name}{place}", shapes_of_layer(sizes, style, cross))
        end = "target_norm" if cross else "source_norm"
        shapes |= _at(end, shapes_of_norm(d_model, style)) if style.final else {}
        shapes |= _at(f"{name}_opened", shapes_of_norm(d_model, style)) if style.opened else {}
    return shapes


def _affine(p: Parts, name: str, into: int) -> Affine:
    """A matrix whose first axes take, and whose others give."""
    weight, bias = p[name], p.get(f"{name}_bias")
    turned = weight.flatten(0, into - 1) if into > 1 else weight.flatten(1)
    return Affine(turned, None if bias is None else bias.flatten())


def heads_of(p: Parts, at: str = "") -> Heads:
    """The projections whose names begin with `at`."""
    q, k, v, o = (_affine(p, f"{at}{name}", into) for name, into in (("q", 1), ("k", 1), ("v", 1), ("o", 2)))
    gains = [Gain(p[name], 0 * p[name]) for name in (f"{at}q_gain", f"{at}k_gain") if name in p]
    return Heads(q, k, v, o, (gains[0], gains[-1]) if gains else None)


def gain_of(p: Parts, at: str = "") -> Gain:
    """What a norm has learned, or 1 and 0."""
    one = torch.ones(())
    return Gain(p.get(f"{at}gain", one), p.get(f"{at}shift", 0 * one))


def inner_of(p: Parts, at: str = "") -> tuple[Affine, Affine]:
    """The two matrices of a feed-forward network."""
    return _affine(p, f"{at}first", 1), _affine(p, f"{at}second", 1)


def layer_of(p: Parts, at: str = "") -> Layer:
    """A layer."""
    cross = heads_of(p, f"{at}cross.") if f"{at}cross.q" in p else None
    inner, outer = inner_of(p, f"{at}inner.")
    count = sum(f"{at}norm{place}.gain" in p for place in range(4)) or (3 if cross else 2)
    norms = tuple(gain_of(p, f"{at}norm{place}.") for place in range(count))
    gate = _affine(p, f"{at}inner.gate", 1) if f"{at}inner.gate" in p else None
    return Layer(heads_of(p, f"{at}self."), cross, inner, outer, norms, gate)


def machine_of(p: Parts, style: Style, layers: int) -> Machine:
    """A whole Transformer."""
    target = p["target"]
    source = p.get("source", target)
    projection = Affine(p.get("projection", target.T), p.get("projection_bias"))
    stacks = [tuple(layer_of(p, f"{name}{place}.") for place in range(layers)) for name in ("encoder", "decoder")]
    final = (gain_of(p, "source_norm."), gain_of(p, "target_norm.")) if style.final else ()
    opened = (gain_of(p, "encoder_opened."), gain_of(p, "decoder_opened.")) if style.opened else ()
    places = tuple(p[name] for name in PLACES.get(style.positions, ()))
    return Machine(source, target, stacks[0], stacks[1], projection, final, opened, (places * 2)[:2])


def _idle_biases(sizes: Mapping[str, int], style: Style) -> int:
    """How many biases of keys change nothing in one attention: they move all scores of a query alike, if unturned."""
    if style.attention not in ("all", "qkv") or style.positions == "turned" or style.normed:
        return 0
    heads = sizes.get("num_kv_heads", 0) or sizes["num_heads"]
    return heads * (sizes["d_model"] // sizes["num_heads"] - 2 * (style.positions == "part"))


def of_heads(steps: Steps, sizes: Mapping[str, int], style: Style) -> Reference:
    """Multi-head attention."""
    d_model, heads = sizes["d_model"], sizes["num_heads"]
    dead = _idle_biases(sizes, style)
    return Reference(
        _at("all", shapes_of_heads(d_model, heads, style, sizes.get("num_kv_heads", 0))),
        lambda p, *inputs: multi_head(steps, heads_of(p, "all."), heads, *inputs),
        dead,
        faint=bool(style.normed),
    )


def of_itself(steps: Steps, sizes: Mapping[str, int], style: Style, layer: bool) -> Reference:
    """One attention, or a whole layer, that reads x alone, (x, mask=None), and sees what `steps.see` says."""
    whole = of_layer(steps, sizes, style) if layer else of_heads(steps, sizes, style)

    def run(p: Parts, x: Tensor, mask: Tensor | None = None) -> Any:
        x = x if steps.batch_first else x.transpose(0, 1)
        seen = steps.see(mask, x.shape[1])
        answer = whole.call(p, x, seen) if layer else whole.call(p, x, x, x, seen)
        return answer if steps.batch_first else answer.transpose(0, 1)

    return replace(whole, call=run)


def of_layer(steps: Steps, sizes: Mapping[str, int], style: Style, cross: bool = False) -> Reference:
    """An encoder layer, or a decoder layer."""
    dead = (2 if cross else 1) * _idle_biases(sizes, style)
    compute = decode_layer if cross else encode_layer
    return Reference(
        shapes_of_layer(sizes, style, cross),
        lambda p, *inputs: compute(steps, layer_of(p), sizes["num_heads"], *inputs),
        dead,
        style.kink,
        bool(style.normed),
    )


IN_ATTENTION = ".q", ".k", ".v", ".o", ".q_bias", ".k_bias", ".v_bias"
QUIET = (*IN_ATTENTION, ".first", ".second", ".gate"), IN_ATTENTION  # what is 0 at first: both parts, then attention
IN_HEADS = "attend", "split", "merge", "project", "turn", "sized", "latent", "join", "share", "output", "mask", "see"
MASKS = "source_mask", "target_mask", "memory_mask", "self_mask", "cross_mask", "of_block"
HEARD = tuple(step.name for step in fields(Steps) if step.name not in {*IN_HEADS, *MASKS} - {"output"})  # it has a bias
heard = attrgetter(*HEARD), attrgetter(*(name for name in HEARD if name not in ("feed_forward", "gated")))


def keys_of(style: "Style", steps: Steps) -> tuple[Any, ...]:
    """What is right is the same function, where the parts that `QUIET` names are silent, if these are the same."""
    return (style, heard[1](steps)), (style, heard[0](steps))


def of_machine(steps: Steps, sizes: Mapping[str, Any], style: Style, pad_of: Callable[[Tensor], int]) -> Reference:
    """A whole Transformer; what stands at padding is nobody's business.

    Words that are not among those `seen` at first (of the source, of the target, of both) have dead numbers, and so
    have places behind their ends (of the source, of the target).
    """
    source, target, both, *lengths = sizes["seen"]
    here = sizes["source_vocab"] - source
    there = sizes["target_vocab"] - target
    unseen = {"": here + there, "target": here, "source": sizes["target_vocab"] - both, "all": 0}[style.tied]
    biases = 3 * sizes["num_layers"] if style.attention in ("all", "qkv") else 0
    unread = {"learned": lengths, "shared": [max(lengths)]}.get(style.positions, [])
    rows = (unseen + sum(sizes["max_len"] - length for length in unread)) * sizes["d_model"]

    def run(p: Parts, source: Tensor, target: Tensor) -> Tensor:
        machine, pad_id = machine_of(p, style, sizes["num_layers"]), pad_of(source)
        return translate(steps, machine, sizes["num_heads"], pad_id, source, target) * (target != pad_id)[..., None]

    faint = style.norm != "both" and _centres(steps.norm)
    dead = rows + biases * sizes["d_model"]
    shapes, keys = shapes_of_machine(sizes, style), keys_of(style, steps)
    return Reference(shapes, run, dead, style.kink, faint, rows, QUIET, keys, (style, steps))


@lru_cache(maxsize=512)
def _centres(norm: Callable[..., Tensor]) -> bool:
    """Whether a norm makes zeros of features that are all the same."""
    one = torch.ones(4)
    try:
        return float(norm(one[None, None], one, 0 * one).abs().max()) < 1e-3
    except Exception:  # a mistake's code
        return False


@lru_cache(maxsize=1 << 14)
def _shapes_of_language_model(named: tuple[tuple[str, int], ...], style: Style) -> Shapes:
    sizes = dict(named)
    d_model = sizes["d_model"]
    shapes: Shapes = {"table": (sizes["vocab_size"], d_model)}
    if style.positions == "learned":
        shapes["positions"] = (sizes["max_len"], d_model)
    for place in range(sizes["num_layers"]):
        shapes |= _at(f"layer{place}", shapes_of_layer(sizes, style, cross=False))
    last = style if isinstance(style.final, bool) else replace(style, norm=style.final)
    shapes |= _at("final", shapes_of_norm(d_model, last)) if style.final else {}
    shapes |= _at("opened", shapes_of_norm(d_model, style)) if style.opened else {}
    shapes |= {} if style.tied else {"projection": (d_model, sizes["vocab_size"])}
    return shapes | ({"projection_bias": (sizes["vocab_size"],)} if style.projection else {})


def of_language_model(steps: Steps, sizes: Mapping[str, Any], style: Style) -> Reference:
    """A decoder-only model; `seen` are the tokens, and the positions, that are read at first."""
    d_model, layers = sizes["d_model"], sizes["num_layers"]
    shapes = _shapes_of_language_model(_whole(sizes), style)
    rows = d_model * (sizes["max_len"] - sizes["seen"]) if style.positions == "learned" else 0
    dead = layers * _idle_biases(sizes, style) + rows

    def run(p: Parts, ids: Tensor) -> Tensor:
        blocks = tuple(layer_of(p, f"layer{place}.") for place in range(layers))
        return read_on(steps, p, style, blocks, sizes["num_heads"], ids)

    kink = style.kink and steps.feed_forward is Steps().feed_forward
    faint = bool(style.normed) or (style.norm != "both" and _centres(steps.norm))
    return Reference(shapes, run, dead, kink, faint, rows, QUIET, keys_of(style, steps), (style, steps))


def fitting(some: list[Style], parameters: Parameters, reference: Callable[[Style], Reference]) -> list[Style]:
    """The styles in which so many numbers change the answer as do a component's; the likelier ones first."""
    fit = [(style, layout) for style in some if (layout := reference(style)).size - layout.dead == parameters.alive]
    ones, have = int(parameters.ones.sum()), len(parameters.numbers)
    return [style for style, _ in sorted(fit, key=lambda f: (int(f[1].gains.sum()) != ones, f[1].size != have))]


def likely(some: list[Style], parameters: Parameters, reference: Callable[[Style], Reference]) -> list[Style]:
    """The styles in which a wrong component may be written: with as many numbers, or as few more as can be."""
    references = {style: reference(style) for style in some}
    have, ones = len(parameters.numbers), int(parameters.ones.sum())
    fit = [style for style, layout in references.items() if layout.size == have]
    as_made = [style for style in fit if ones and int(references[style].gains.sum()) == ones]
    # gains start as 1, so that those styles will do in which as many numbers are gains; else one norm may not be there
    fit = as_made or fit + [replace(base, norm="both") for base in fit if base.norm != "both"]
    fit += [replace(base, norms=base.norms + 1) for base in fit if base.norms in (1, 3)]  # or one of two, or of four
    more = sorted({way.size for way in references.values() if way.size > have})[:2]  # a part is not there, or is shared
    larger = [style for style, layout in references.items() if layout.size in more][:4]
    fit = fit or fitting(some, parameters, reference) or larger
    return fit or [Style(), replace(Style(), attention="none", inner="none")]
