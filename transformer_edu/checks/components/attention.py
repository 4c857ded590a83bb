"""Checks scaled dot-product attention; its known mistakes are in the two modules `attention_*mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit, as_tensor
from transformer_edu.checks.engine.side_effects import gradient_of


def check_scaled_dot_product_attention(fn: Callable[..., Any]) -> None:
    """Check fn(query, key, value, mask=None) -> output, or (output, weights).

    query, key and value are (batch, heads, len, d_head); a mask is boolean, True = may attend. A query that may
    attend to nothing has to get a zero output. Weights are compared when the function returns them.
    """
    need_callable("fn", fn)
    ATTENTION.check(fn)


def findings(result: Any) -> dict[str, Any]:
    """Output and weights, whichever way the function returns them."""
    if isinstance(result, tuple | list):
        if len(result) != 2:
            raise Unfit(f"returned {len(result)} things, expected output or (output, weights)")
        output, weights = result
        return {"output": as_tensor(output), "weights": None if weights is None else as_tensor(weights)}
    return {"output": as_tensor(result, "output or (output, weights)"), "weights": None}


def _attend(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return findings(fn(*given.values()))


def _attend_twice(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    try:
        first, second = (findings(fn(*given.values()))["output"] for _ in range(2))
    except Exception:  # what fails every time is no question of chance: the next trial shows it with fewer numbers
        return {"same output both times": True}
    return {"same output both times": first.shape == second.shape and bool(torch.equal(first, second))}


def _attend_in_half(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    found = findings(fn(*given.values()))
    return {"dtype": str(found["output"].dtype), "output": found["output"].float()}


def _inputs_afterwards(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    fn(*given.values())
    return {f"{name} after the call": tensor for name, tensor in given.items()}


def _random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _pair(value_rows: list[list[float]], queries: int = 2, **mask: Tensor) -> dict[str, Any]:
    """A few tokens of d_head 4 (so that √d_head = 2): query, key and value with batch 1 and one head."""
    query = torch.tensor([[2.0, 0, 0, 0], [0, 2, 0, 0], [1, 0, 1, 0]])[:queries]
    key = torch.tensor([[1.0, 0, 0, 0], [0, 2, 0, 0], [1, 0, 3, 0]])[: len(value_rows)]
    value = torch.tensor(value_rows)
    return {"query": query[None, None], "key": key[None, None], "value": value[None, None], **mask}


def _batch(dtype: torch.dtype = torch.float32, **mask: Tensor) -> dict[str, Any]:
    """Two sentences of three tokens, two heads of d_head 4."""
    drawn = _random(3, 2, 2, 3, 4).to(dtype)
    return {"query": drawn[0], "key": drawn[1], "value": drawn[2], **mask}


TWO: list[list[float]] = [[10.0, 0.0], [0.0, 20.0]]
THREE: list[list[float]] = [[10.0, 0.0], [0.0, 20.0], [30.0, 30.0]]
CAUSAL = torch.ones(3, 3).tril().bool()
PADDING = torch.tensor([[[[True, True, False]]], [[[True, False, False]]]])  # (batch, 1, 1, k_len)
LAST_BLOCKED = torch.tensor([[[[True, True, False]]]])  # (batch, 1, 1, k_len)
NOWHERE = torch.tensor([[True, False], [False, False]])  # the second query is blocked entirely
LONG = {name: _random(1, 2, 16, 4) for name in ("query", "key", "value")}

ATTENTION = Component(
    "attention",
    reference=scaled_dot_product_attention,
    trials=[
        Trial("the same sixteen tokens twice", LONG, _attend_twice),
        Trial("two tokens, no mask, d_head 4", _pair(TWO), _attend),
        Trial("two queries, three keys", _pair(THREE), _attend),
        Trial("two sentences, two heads", _batch(), _attend),
        Trial("two queries, three keys, the last one blocked", _pair(THREE, mask=LAST_BLOCKED), _attend),
        Trial("three tokens, causal mask", _pair(THREE, queries=3, mask=CAUSAL), _attend),
        Trial("two padded sentences", _batch(mask=PADDING), _attend),
        Trial("a second query that may look at nothing", _pair(TWO, mask=NOWHERE), _attend),
        Trial("a mask in half precision", _batch(torch.float16, mask=PADDING), _attend_in_half, tolerance=2e-2),
        Trial("the inputs afterwards", _pair(THREE, queries=3, mask=CAUSAL), _inputs_afterwards),
    ],
    gradient=gradient_of("query", "key", "value"),
)
