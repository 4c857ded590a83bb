"""Looking inside a model that knows nothing of being looked at."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.validation import check_positive_integer


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the attention weights of every forward pass inside the `with` block.

    Yields a dictionary that each forward pass fills: "encoder.0.self", "decoder.0.self", "decoder.0.cross", ...
    each (batch, heads, q_len, k_len), before dropout, detached. A second forward pass overwrites the first.
    While recording, attention runs on its written-out path; the results are the same.

    >>> from transformer_edu import build_transformer
    >>> import torch
    >>> model = build_transformer(10, 10, d_model=8, num_heads=2, d_ff=16, num_layers=1)
    >>> with record_attention(model) as maps:
    ...     _ = model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    >>> {name: tuple(weights.shape) for name, weights in maps.items()}
    {'encoder.0.self': (1, 2, 3, 3), 'decoder.0.self': (1, 2, 2, 2), 'decoder.0.cross': (1, 2, 2, 3)}
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    maps: dict[str, Tensor] = {}
    attentions = {_short_name(name): module for name, module in model.named_modules() if hasattr(module, "recorder")}
    if not attentions:
        raise ValueError(f"model must contain an attention with a `recorder`, got {type(model).__name__} without one")
    before = {name: module.recorder for name, module in attentions.items()}
    for name, module in attentions.items():
        module.recorder = lambda weights, name=name: maps.__setitem__(name, weights.detach())
    try:
        yield maps
    finally:
        for name, module in attentions.items():
            module.recorder = before[name]


@contextmanager
def block_attention(attentions: Iterable[nn.Module], query: int, key: int) -> Iterator[None]:
    """While the `with` block is open, no head of these attentions lets position `query` look at position `key`.

    To find out whether a path that an attention map shows is one that the model needs.

    Args:
        attentions: `MultiHeadAttention` modules, or others called with (query, key, value, mask).
        query, key: positions, counted from 0.
    """
    check_positive_integer("query", query, minimum=0)
    check_positive_integer("key", key, minimum=0)

    def block(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        q, k, v, mask, *rest = arguments if len(arguments) > 3 else (*arguments, None)
        if query >= q.shape[1] or key >= k.shape[1]:
            raise ValueError(f"query and key must lie in {q.shape[1]} x {k.shape[1]} positions, got {query} and {key}")
        allowed = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool, device=q.device)
        allowed[query, key] = False
        return q, k, v, allowed if mask is None else mask & allowed, *rest

    hooks = [attention.register_forward_pre_hook(block) for attention in attentions]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _short_name(path: str) -> str:
    """The name under which a module's map is filed: "encoder.layers.0.self_attention" -> "encoder.0.self"."""
    parts = [part.removesuffix("_attention") for part in path.split(".") if part and part != "layers"]
    return ".".join(parts) or "attention"
