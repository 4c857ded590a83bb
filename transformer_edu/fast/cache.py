"""A cache with preallocated buffers, into which each new token is written."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch

from transformer_edu.fast.search import Search
from transformer_edu.support.arguments import check_new_rows
from transformer_edu.support.cache import DecoderCache, HeadVectors, KeyValueCache, LayerCache
from transformer_edu.support.plain import is_plain
from transformer_edu.support.shapes import Float, Int, Tensor

Buffer = Float[Tensor, "batch heads capacity d_head"]


@dataclass
class BufferedCache(KeyValueCache):
    """A `KeyValueCache` whose tensors are the front part of larger ones, so that a new row moves no old one.

    Two caches must not share buffers: copy a cache with `copy.deepcopy`.
    """

    buffers: dict[str, Tensor] = field(default_factory=dict, repr=False)  # of "key" and "value"

    def append(self, key: HeadVectors, value: HeadVectors) -> tuple[Tensor, Tensor]:
        """Put new rows behind the old ones; return all of them."""
        check_new_rows("key", self.key, key)
        check_new_rows("value", self.value, value)
        self.key, self.value = self._append("key", self.key, key), self._append("value", self.value, value)
        return self.key, self.value

    def _append(self, name: str, old: Tensor | None, new: Tensor) -> Tensor:
        if old is None:
            return new
        if not _may_overwrite(old, new):
            self.buffers.clear()
            return torch.cat([old, new], dim=-2)
        start, end = old.shape[-2], old.shape[-2] + new.shape[-2]
        buffer = self.buffers.get(name)
        if buffer is None or buffer.shape[-2] < end or _is_closed(buffer):
            capacity = 2 * end  # doubled, so that the old rows are seldom copied
            self.buffers[name] = buffer = _new_buffer(old, old.shape[0], capacity)
            buffer[:, :, :start] = old
        buffer[:, :, start:end] = new
        return buffer[:, :, :end]

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self._select("key", self.key, rows), self._select("value", self.value, rows)

    def _select(self, name: str, old: Tensor, rows: Tensor) -> Tensor:
        if name not in self.buffers or not _may_overwrite(old, rows):
            self.buffers.pop(name, None)
            return old[rows]
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
class BufferedLayerCache(LayerCache):
    """A `LayerCache` with buffers."""

    self_attention: KeyValueCache = field(default_factory=BufferedCache)
    cross_attention: KeyValueCache = field(default_factory=BufferedCache)


class SearchCache(DecoderCache):
    """A `DecoderCache` with buffers, and with what its search computes once."""

    def __init__(self, num_layers: int) -> None:
        super().__init__(num_layers)
        self.layers = [BufferedLayerCache() for _ in range(num_layers)]
        self.search = Search()

    def in_use(self) -> AbstractContextManager[None]:
        """Each step of a search runs inside this, so that the quick classes find the search."""
        return self.search.in_use()
