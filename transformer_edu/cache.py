"""Keys and values that decoding has already computed, kept so that each new token costs one new row."""

from dataclasses import dataclass, field

import torch

from transformer_edu.shapes import Float, Int, Tensor

HeadVectors = Float[Tensor, "batch heads seq d_head"]


@dataclass
class KeyValueCache:
    """The keys and values of one attention, both (batch, heads, k_len, d_head); None before the first token."""

    key: Tensor | None = None
    value: Tensor | None = None

    def append(self, key: HeadVectors, value: HeadVectors) -> tuple[Tensor, Tensor]:
        """Put new rows behind the old ones; return all of them."""
        self.key = key if self.key is None else torch.cat([self.key, key], dim=-2)
        self.value = value if self.value is None else torch.cat([self.value, value], dim=-2)
        return self.key, self.value

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key[rows], self.value[rows]


@dataclass
class LayerCache:
    """What one decoder layer remembers: its own past tokens, and the memory seen through its W_K and W_V."""

    self_attention: KeyValueCache = field(default_factory=KeyValueCache)
    cross_attention: KeyValueCache = field(default_factory=KeyValueCache)


class DecoderCache:
    """The past of a whole decoder: the target ids so far (batch, seq) and one `LayerCache` for each layer."""

    def __init__(self, num_layers: int) -> None:
        self.target: Tensor | None = None
        self.layers = [LayerCache() for _ in range(num_layers)]

    @property
    def length(self) -> int:
        """Number of target positions already decoded."""
        return 0 if self.target is None else self.target.shape[1]

    def append(self, target: Int[Tensor, "batch new"]) -> Tensor:
        """Put new target ids behind the old ones; return all of them."""
        if self.target is not None and self.target.shape[0] != target.shape[0]:
            raise ValueError(
                f"target must have a batch of {self.target.shape[0]} like the cache, got {target.shape[0]}"
            )
        self.target = target if self.target is None else torch.cat([self.target, target], dim=1)
        return self.target

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order (beam search, or dropping finished sentences)."""
        if self.target is not None:
            self.target = self.target[rows]
        for layer in self.layers:
            layer.self_attention.reorder(rows)
            layer.cross_attention.reorder(rows)
