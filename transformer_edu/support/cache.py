"""Keys and values that decoding has already computed, kept so that each new token costs one new row."""

from dataclasses import dataclass, field

import torch

from transformer_edu.support.plain import is_plain
from transformer_edu.support.shapes import Float, Int, Tensor

HeadVectors = Float[Tensor, "batch heads seq d_head"]


@dataclass
class KeyValueCache:
    """The keys and values of one attention, both (batch, heads, k_len, d_head); None before the first token.

    They lie at the front of larger tensors, so that a new row is written behind the old ones and these stay where
    they are. Two caches must not share them: copy a cache with `copy.deepcopy`.
    """

    key: Tensor | None = None
    value: Tensor | None = None
    rooms: dict[str, Tensor] = field(default_factory=dict, repr=False)  # (batch, heads, k_len and more, d_head)

    def append(self, key: HeadVectors, value: HeadVectors) -> tuple[Tensor, Tensor]:
        """Put new rows behind the old ones; return all of them."""
        _check_continues("key", self.key, key)
        _check_continues("value", self.value, value)
        self.key, self.value = self._put_behind("key", self.key, key), self._put_behind("value", self.value, value)
        return self.key, self.value

    def _put_behind(self, name: str, old: Tensor | None, new: Tensor) -> Tensor:
        if old is None:
            return new
        if not _may_overwrite(old, new):
            self.rooms.clear()
            return torch.cat([old, new], dim=-2)
        start, end = old.shape[-2], old.shape[-2] + new.shape[-2]
        room = self.rooms.get(name)
        if room is None or room.shape[-2] < end or (room.is_inference() and not torch.is_inference_mode_enabled()):
            self.rooms[name] = room = _new_room(old, rows=old.shape[0], length=2 * end)  # doubled: seldom copied
            room[:, :, :start] = old
        room[:, :, start:end] = new
        return room[:, :, :end]

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self._select("key", self.key, rows), self._select("value", self.value, rows)

    def _select(self, name: str, old: Tensor, rows: Tensor) -> Tensor:
        if name not in self.rooms or not _may_overwrite(old, rows):
            self.rooms.pop(name, None)
            return old[rows]
        length = old.shape[-2]
        self.rooms[name] = _new_room(old, len(rows), self.rooms[name].shape[-2])
        return torch.index_select(old, 0, rows, out=self.rooms[name][:, :, :length])


def _new_room(like: Tensor, rows: int, length: int) -> Tensor:
    return like.new_empty(rows, like.shape[1], length, like.shape[3])


def _may_overwrite(*tensors: Tensor) -> bool:
    """Not where a gradient needs what it was computed from, nor where PyTorch transforms, traces or exports."""
    return not torch.is_grad_enabled() and is_plain(*tensors)


def _check_continues(name: str, old: Tensor | None, new: Tensor) -> None:
    if old is None:
        return
    (batch, heads, _, d_head), dtype = old.shape, old.dtype
    if new.shape != (batch, heads, new.shape[-2], d_head) or new.dtype is not dtype:
        expected = f"shape ({batch}, {heads}, new, {d_head}) and dtype {dtype}"
        raise ValueError(f"{name} must continue the cache's with {expected}, got {tuple(new.shape)} and {new.dtype}")


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
