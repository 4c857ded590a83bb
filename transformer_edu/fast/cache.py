"""A cache that moves and reads less: preallocated buffers for the target's rows, equal sources kept once."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch

from transformer_edu.fast.search import Search
from transformer_edu.support.cache import DecoderCache, HeadVectors, KeyValueCache, LayerCache
from transformer_edu.support.plain import is_plain
from transformer_edu.support.shapes import Float, Int, Tensor

ROOM = 64  # rows of a buffer at the least: a usual answer is never moved
Buffer = Float[Tensor, "batch heads capacity d_head"]


@dataclass
class BufferedCache(KeyValueCache):
    """A `KeyValueCache` whose tensors are the front part of larger ones, so that a new row moves no old one.

    Two caches must not share buffers: copy a cache with `copy.deepcopy`.
    """

    buffers: dict[str, Tensor] = field(default_factory=dict, repr=False)  # of "key" and "value"

    def _joined(self, name: str, new: Tensor) -> Tensor:
        old: Tensor | None = getattr(self, name)
        if old is None or not _may_overwrite(old, new):
            self.buffers.clear()
            return super()._joined(name, new)
        start, end = old.shape[-2], old.shape[-2] + new.shape[-2]
        buffer = self.buffers.get(name)
        if buffer is None or buffer.shape[-2] < end or _is_closed(buffer):
            capacity = max(ROOM, 2 * end)  # doubled, so that the old rows are seldom copied
            self.buffers[name] = buffer = _new_buffer(old, old.shape[0], capacity)
            buffer[:, :, :start] = old
        buffer[:, :, start:end] = new
        return buffer[:, :, :end]

    def _selected(self, name: str, rows: Tensor) -> Tensor:
        old: Tensor = getattr(self, name)
        if name not in self.buffers or not _may_overwrite(old, rows):
            self.buffers.pop(name, None)
            return super()._selected(name, rows)
        self.buffers[name] = _new_buffer(old, len(rows), self.buffers[name].shape[-2])
        return torch.index_select(old, 0, rows, out=self.buffers[name][:, :, : old.shape[-2]])


def _new_buffer(like: Tensor, rows: int, capacity: int) -> Buffer:
    return like.new_empty(rows, like.shape[1], capacity, like.shape[3])


def _is_closed(buffer: Buffer) -> bool:
    """Whether it was made in inference mode, and may not be written to here."""
    return buffer.is_inference() and not torch.is_inference_mode_enabled()


def _may_overwrite(*tensors: Tensor) -> bool:
    """Not where a gradient needs what it was computed from, nor where PyTorch transforms, traces or exports."""
    return not torch.is_grad_enabled() and is_plain(*tensors)


@dataclass
class SharedCache(KeyValueCache):
    """A `KeyValueCache` that keeps neighbouring rows once if they are equal, as those of one source in a beam are.

    `key` and `value` then have `sharing` times fewer rows than what was put in.
    """

    sharing: int = 1

    def append(self, key: HeadVectors, value: HeadVectors) -> tuple[Tensor, Tensor]:
        """Keep these rows; return what is kept."""
        if self.key is None and not torch.is_grad_enabled() and is_plain(key, value):
            self.sharing = _equal_neighbours(key, value)
            key, value = key[:: self.sharing], value[:: self.sharing]
        return super().append(key, value)

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        sources = rows // self.sharing
        shared = sources[:: self.sharing]
        if torch.equal(shared.repeat_interleave(self.sharing), sources):
            super().reorder(shared)
        else:
            super().reorder(sources)
            self.sharing = 1


def _equal_neighbours(*tensors: Tensor) -> int:
    """How many rows side by side are the same in each of these tensors, throughout the batch."""
    first = torch.stack([(rows == rows[:1]).flatten(1).all(dim=1) for rows in tensors]).all(dim=0)
    count = int(first.long().cumprod(dim=0).sum())
    fits = count > 1 and len(first) % count == 0
    equal = fits and all(torch.equal(rows[::count].repeat_interleave(count, dim=0), rows) for rows in tensors)
    return count if equal else 1


@dataclass
class SearchLayerCache(LayerCache):
    """A `LayerCache` with buffers for the target's rows, and the sources' rows kept once."""

    self_attention: KeyValueCache = field(default_factory=BufferedCache)
    cross_attention: KeyValueCache = field(default_factory=SharedCache)


class SearchCache(DecoderCache):
    """A `DecoderCache` with buffers, and with what its search computes once."""

    def __init__(self, num_layers: int) -> None:
        super().__init__(num_layers)
        self.layers = [SearchLayerCache() for _ in range(num_layers)]
        self.search = Search()

    def in_use(self) -> AbstractContextManager[None]:
        """Each step of a search runs inside this, so that the quick classes find the search."""
        return self.search.in_use()
