"""Stand-ins for sub-layers and norms: rules that can be worked with pencil and paper, and that count their calls.

Residual connections and layers are checked with these, because what is checked there is the wiring alone.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine.compare import read_tensor


class Part:
    """A function of one or more tensors that prints as its formula and knows how often it was called."""

    def __init__(self, formula: str, rule: Callable[..., Tensor]) -> None:
        self.formula = formula
        self.rule = rule
        self.calls = 0

    def __call__(self, *inputs: Any, **named: Any) -> Tensor:
        """Apply the rule to the inputs (for attention: query, key, value)."""
        self.calls += 1
        return self.rule(*map(read_tensor, inputs), **{name: read_tensor(value) for name, value in named.items()})

    def __repr__(self) -> str:
        return self.formula


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1)


def squares() -> Part:
    """For a feed-forward network: no token looks at another."""
    return Part("v · v + 1, entry by entry", lambda x: x * x + 1)


def mean_of_tokens() -> Part:
    """For self-attention of one argument: each token gets the mean of all tokens."""
    return Part("the mean of all tokens, for each token", lambda x: x.mean(-2, keepdim=True).expand_as(x))


def masked_attention() -> Part:
    """For masked self-attention: the sum of (q · k) v over the keys up to the query's own place."""
    return Part(
        "Σ (q · k) v, over the keys up to the query's own place",
        lambda query, key, value: _scores(query, key).tril() @ value,
    )


def attention() -> Part:
    """For cross-attention: the sum of (q · k) v over all keys."""
    return Part("Σ (q · k) v, over all keys", lambda query, key, value: _scores(query, key) @ value)


def by_sum() -> Part:
    """A norm: divide by the sum of absolute values."""
    return Part("v / sum of |v|", lambda x: x / x.abs().sum(-1, keepdim=True))


def by_largest() -> Part:
    """A second norm: divide by the largest absolute value."""
    return Part("v / largest |v|", lambda x: x / x.abs().amax(-1, keepdim=True))


def by_length() -> Part:
    """A third norm: divide by the Euclidean length."""
    return Part("v / length of v", lambda x: x / torch.linalg.vector_norm(x, dim=-1, keepdim=True))


class Calls:
    """How often each part was called; two such findings are the same when both have too many, too few, or neither."""

    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = counts

    @property
    def judgement(self) -> str:
        """Too many calls of any part weigh more than a part that was never called."""
        counts = self.counts.values()
        return "too many" if max(counts) > 1 else "too few" if min(counts) < 1 else "once each"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calls) and self.judgement == other.judgement

    def __hash__(self) -> int:
        return hash(self.judgement)

    def __str__(self) -> str:
        return ", ".join(f"{name} {count} ×" for name, count in self.counts.items())


def calls(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """How often each part is called; the two or three norms are counted one by one."""
    fn(*given.values())
    counted = {name: value for name, value in given.items() if isinstance(value, Part)}
    counted |= {f"norms[{i}]": norm for i, norm in enumerate(given.get("norms", ()))}
    return {"calls": Calls({name: part.calls for name, part in counted.items()})}
