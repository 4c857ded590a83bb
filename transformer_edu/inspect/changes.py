"""A model that computes something differently for a while: heads off, no positions, no mask, a part left out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.masks import padding_mask
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_is
from transformer_edu.transformer import Transformer

SUBLAYERS = {"self": "self_attention", "cross": "cross_attention", "feed_forward": "feed_forward"}
RESIDUALS = {"self": "self_attention_residual", "cross": "cross_residual", "feed_forward": "feed_forward_residual"}
KINDS = ("off", "uniform")


@dataclass(frozen=True)
class Changes:
    """What a model is to compute differently. The figures' engine takes the same fields.

    Parts are named as `record_activations` names them: "encoder.0" is a layer, "decoder.1.cross" a sub-layer,
    "decoder.1.cross.3" one of its heads.

    Args:
        heads: "off" for a head that adds nothing, "uniform" for one that looks at all that it may see alike.
        source_positions: "off" for no positional encoding of the source, or a place for each token, as [2, 0, 1].
        target_positions: "off" or None.
        unscaled: scores are not divided by √d_head.
        unmasked: the decoder sees later tokens too.
        skipped: layers that are left out.
        silent: sub-layers that add nothing.
        unadded: sub-layers whose input is not added to what they write.
        unnormed: sub-layers without their norm.
        blocked: (attention, query, key), this query may not look at that key: in one attention ("decoder.1.cross") or
            in those of all layers ("decoder.cross"). For whole passes, without a cache.
    """

    heads: Mapping[str, str] = field(default_factory=dict)
    source_positions: str | Sequence[int] | None = None
    target_positions: str | None = None
    unscaled: bool = False
    unmasked: bool = False
    skipped: Sequence[str] = ()
    silent: Sequence[str] = ()
    unadded: Sequence[str] = ()
    unnormed: Sequence[str] = ()
    blocked: Sequence[tuple[str, int, int]] = ()


@contextmanager
def changed(model: Transformer, changes: Changes | None = None, **fields_of_changes: Any) -> Iterator[Transformer]:
    """Let `model` compute as `changes` say inside the `with` block, and as before after it; its weights stay.

    Other threads that use this model meanwhile meet the changes too.

    >>> from transformer_edu.pretrained import load_grammar
    >>> grammar = load_grammar()
    >>> with changed(grammar.model, source_positions="off"):
    ...     grammar.translate("the small black cat does not sleep")
    'le petit chat noir ne dort pas'

    Raises:
        ValueError: a name belongs to no part of this model, or another `changed` around this one changes the same part.
    """
    check_is("model", model, Transformer)
    changes = changes if changes is not None else Changes(**fields_of_changes)
    with ExitStack() as stack:
        for module, forward in _replaced(model, changes):
            name = "attend_in_heads" if isinstance(module, MultiHeadAttention) else "forward"
            _put(stack, module, name, forward)
        if changes.unmasked:
            hidden = model.config.pad_id
            _put(stack, model, "target_mask", lambda target, offset=0: padding_mask(target, hidden))
        yield model


def _put(stack: ExitStack, module: nn.Module, name: str, function: Any) -> None:
    """Give one object a method of its own until the stack is closed."""
    if name in module.__dict__:  # a second one would take the place of the first
        raise ValueError("changes must be given together: this part of the model is changed already")
    module.__dict__[name] = function
    stack.callback(lambda: module.__dict__.pop(name))


def _replaced(model: Transformer, changes: Changes) -> Iterator[tuple[nn.Module, Any]]:
    """The parts that compute something else, each with what it computes."""
    stacks = {"encoder": model.encoder.layers, "decoder": model.decoder.layers}
    layers = {f"{side}.{i}": layer for side, stack in stacks.items() for i, layer in enumerate(stack)}
    sublayers = {
        f"{name}.{short}": (getattr(layer, part), getattr(layer, RESIDUALS[short]))
        for name, layer in layers.items()
        for short, part in SUBLAYERS.items()
        if hasattr(layer, part)
    }
    _check_names(changes, layers.keys(), sublayers)
    for name, (part, residual) in sublayers.items():
        if isinstance(part, MultiHeadAttention) and _touches(changes, name):
            yield part, _attend(part, name, changes)
        if name in (*changes.silent, *changes.unadded, *changes.unnormed):
            yield residual, _connect(residual, name, changes)
    for name in changes.skipped:
        yield layers[name], lambda x, *others: x
    if changes.source_positions is not None or changes.target_positions is not None:
        yield model.positional_encoding, _place(model, changes)


def _check_names(changes: Changes, layers: Any, sublayers: dict[str, tuple[nn.Module, nn.Module]]) -> None:
    heads = {
        f"{name}.{head}"
        for name, (part, _) in sublayers.items()
        if isinstance(part, MultiHeadAttention)
        for head in range(part.num_heads)
    }
    roads = {name for name in sublayers if not name.endswith("feed_forward")}
    roads |= {f"{side}.{kind}" for side, _, kind in (road.split(".") for road in roads)}
    of_blocked = [road for road, _, _ in changes.blocked]
    given = {"heads": (changes.heads, heads), "skipped": (changes.skipped, layers), "blocked": (of_blocked, roads)}
    given |= {name: (getattr(changes, name), sublayers) for name in ("silent", "unadded", "unnormed")}
    for name, (named, there) in given.items():
        if unknown := sorted(set(named) - set(there)):
            known = ", ".join(sorted(there))
            raise ValueError(f"{name} must name parts of the model ({known}), got {', '.join(unknown)}")
    if wrong := set(changes.heads.values()) - set(KINDS):
        raise ValueError(f"heads must be {' or '.join(KINDS)}, got {', '.join(sorted(wrong))}")


def _touches(changes: Changes, name: str) -> bool:
    """Whether the attention of this name computes anything differently."""
    return changes.unscaled or bool(_heads_of(changes, name)) or bool(_blocked_in(changes, name))


def _heads_of(changes: Changes, name: str) -> dict[int, str]:
    return {int(head.rpartition(".")[2]): how for head, how in changes.heads.items() if head.rpartition(".")[0] == name}


def _blocked_in(changes: Changes, name: str) -> list[tuple[int, int]]:
    side, _, kind = name.split(".")
    return [(query, key) for road, query, key in changes.blocked if road in (name, f"{side}.{kind}")]


def _attend(part: MultiHeadAttention, name: str, changes: Changes) -> Any:
    """`MultiHeadAttention.attend_in_heads`, written out and changed."""
    heads, blocked = _heads_of(changes, name), _blocked_in(changes, name)

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, score_bias: Tensor | None = None) -> Tensor:
        k, v = part.for_each_query(k), part.for_each_query(v)
        scores = q @ k.transpose(-2, -1) / (1.0 if changes.unscaled else math.sqrt(q.shape[-1]))
        scores = scores if score_bias is None else scores + score_bias
        may = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores).clone()
        for row, column in blocked:
            may[..., row : row + 1, column : column + 1] = False
        scores = scores.masked_fill(~may, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1).masked_fill(~may, 0.0)
        for head, how in heads.items():
            alike = may[:, head] / may[:, head].sum(dim=-1, keepdim=True).clamp(min=1)
            weights[:, head] = alike if how == "uniform" else 0.0
        if part.recorder is not None:
            part.recorder(weights)
        return part.output_projection(part.merge_heads(weights @ v))

    return attend


def _connect(residual: ResidualConnection, name: str, changes: Changes) -> Any:
    """`ResidualConnection.forward` without the addition, the norm, or what the sub-layer writes."""
    norm = (lambda x: x) if name in changes.unnormed else residual.norm

    def forward(x: Tensor, sublayer: Any) -> Tensor:
        inner = norm(x) if residual.pre else x
        written = torch.zeros_like(x) if name in changes.silent else sublayer(inner)
        added = written if name in changes.unadded else x + written
        return added if residual.pre else norm(added)

    return forward


def _place(model: Transformer, changes: Changes) -> Any:
    """`PositionalEncoding.forward`: the decoder calls it with an offset, the encoder without."""
    table = model.positional_encoding.table

    def forward(x: Tensor, offset: int | None = None) -> Tensor:
        places = changes.source_positions if offset is None else changes.target_positions
        if places == "off":
            return x
        if places is None:
            return x + table[offset or 0 :][: x.shape[1]]
        return x + table[torch.as_tensor(places, device=table.device)]

    return forward
