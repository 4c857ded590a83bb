"""Taking one position out of another's sight, in a model that knows nothing of it.

Each `with` block changes only what its own thread computes: others may use the model at the same time.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import torch
from torch import nn

from transformer_edu.support.validation import check_positive_integer


@contextmanager
def mask_position(attentions: Iterable[nn.Module], query: int, key: int) -> Iterator[None]:
    """While the `with` block is open, no head of these attentions lets position `query` look at position `key`.

    To find out whether a path that an attention map shows is one that the model needs.

    Args:
        attentions: `MultiHeadAttention` modules, or others called with (query, key, value, mask).
        query, key: positions, counted from 0.
    """
    check_positive_integer("query", query, minimum=0)
    check_positive_integer("key", key, minimum=0)
    thread = get_ident()

    def block(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if get_ident() != thread:
            return arguments
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
