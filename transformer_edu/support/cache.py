"""Keys and values that decoding has already computed, kept so that each new token costs one new row."""

from dataclasses import dataclass, field
from typing import Any

import torch

from transformer_edu.support.arguments import check_new_rows, check_new_targets
from transformer_edu.support.shapes import Float, Int, Tensor

HeadVectors = Float[Tensor, "batch heads seq d_head"]
KeysValues = tuple[Tensor, Tensor]  # both (batch, heads, k_len, d_head)


@dataclass
class KeyValueCache:
    """The keys and values of one attention, both (batch, heads, k_len, d_head); None before the first token."""

    key: Tensor | None = None
    value: Tensor | None = None

    @property
    def length(self) -> int:
        """Number of positions whose keys and values are kept."""
        return 0 if self.key is None else self.key.shape[-2]

    def append(self, key: HeadVectors, value: Float[Tensor, "batch heads seq d_value"]) -> KeysValues:
        """Put new rows behind the old ones; return all of them."""
        if self.key is None or self.value is None:
            self.key, self.value = key, value
        else:
            check_new_rows("key", self.key, key)
            check_new_rows("value", self.value, value)
            self.key, self.value = torch.cat([self.key, key], dim=-2), torch.cat([self.value, value], dim=-2)
        return self.key, self.value

    def kept(self) -> KeysValues:
        """The keys and values so far; ValueError if there are none."""
        if self.key is None or self.value is None:
            raise ValueError(f"cache must already hold keys and values, got the empty {self}")
        return self.key, self.value

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key[rows], self.value[rows]


@dataclass
class LayerCache:
    """What one layer remembers: its own past tokens, and the memory seen through its W_K and W_V, if it reads one."""

    self_attention: KeyValueCache = field(default_factory=KeyValueCache)
    cross_attention: KeyValueCache = field(default_factory=KeyValueCache)


class DecoderCache:
    """The past of a stack that writes: the target ids so far (batch, seq) and one `LayerCache` for each layer."""

    def __init__(self, num_layers: int) -> None:
        self.target: Tensor | None = None
        self.layers = [LayerCache() for _ in range(num_layers)]

    @property
    def length(self) -> int:
        """Number of target positions already decoded."""
        return 0 if self.target is None else self.target.shape[1]

    def append(self, target: Int[Tensor, "batch new"]) -> Tensor:
        """Put new target ids behind the old ones; return all of them."""
        check_new_targets(self.target, target)
        self.target = target if self.target is None else torch.cat([self.target, target], dim=1)
        return self.target

    def reorder(self, rows: Int[Tensor, " kept"], same_sources: bool = False) -> None:
        """Keep these rows of the batch, in this order (beam search, or dropping finished sentences).

        same_sources: each row comes where one with the same source was; what the memory gave can stay as it is.
        """
        if self.target is not None:
            self.target = self.target[rows]
        for layer in self.layers:
            layer.self_attention.reorder(rows)
            if not same_sources:
                layer.cross_attention.reorder(rows)


def self_attention(attention: Any, x: Tensor, mask: Tensor | None, cache: KeyValueCache | None) -> Tensor:
    """Attend from x (batch, seq, d_model) to x; with a cache, also to the keys and values kept there."""
    if cache is None:
        return attention(x, x, x, mask)
    offset = cache.length
    return attention.attend(x, cache.append(*attention.keys_values(x, offset)), mask, offset=offset)


def cross_attention(
    attention: Any, x: Tensor, memory: Tensor, mask: Tensor | None, cache: KeyValueCache | None
) -> Tensor:
    """Attend from x to the memory, whose keys and values are computed once when there is a cache."""
    if cache is None:
        return attention(x, memory, memory, mask)
    if cache.length == 0:
        cache.append(*attention.keys_values(memory))
    return attention.attend(x, cache.kept(), mask)
