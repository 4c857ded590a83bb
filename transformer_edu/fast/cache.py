"""A cache that moves and reads less: preallocated buffers for the target's rows, equal sources kept once."""

from dataclasses import dataclass, field

import torch

from transformer_edu.support.arguments import check_new_rows
from transformer_edu.support.cache import DecoderCache, HeadVectors, KeysValues, KeyValueCache, LayerCache
from transformer_edu.support.plain import is_plain
from transformer_edu.support.shapes import Float, Int, Tensor

ROOM = 64  # rows of a buffer at the least: a usual answer is never moved
Buffer = Float[Tensor, "batch heads capacity d_head"]


class _Rows:
    """One tensor that grows row by row: the front part of a larger one, so that a new row moves no old one."""

    def __init__(self) -> None:
        self.buffer: Tensor | None = None

    def joined(self, old: Tensor, new: Tensor) -> Tensor:
        """`new` behind `old`, which is what this gave last."""
        if not _may_overwrite(old, new):
            self.buffer = None
            return torch.cat([old, new], dim=-2)
        start, end = old.shape[-2], old.shape[-2] + new.shape[-2]
        if self.buffer is None or self.buffer.shape[-2] < end or _is_closed(self.buffer):
            capacity = max(ROOM, 2 * end)  # doubled, so that the old rows are seldom copied
            self.buffer = _new_buffer(old, old.shape[0], capacity)
            self.buffer[:, :, :start] = old
        self.buffer[:, :, start:end] = new
        return self.buffer[:, :, :end]

    def selected(self, old: Tensor, rows: Tensor) -> Tensor:
        """These rows of the batch of `old`, which is what this gave last."""
        if self.buffer is None or not _may_overwrite(old, rows):
            self.buffer = None
            return old[rows]
        self.buffer = _new_buffer(old, len(rows), self.buffer.shape[-2])
        return torch.index_select(old, 0, rows, out=self.buffer[:, :, : old.shape[-2]])


@dataclass
class BufferedCache(KeyValueCache):
    """A `KeyValueCache` with room for more rows. Two must not share it: copy a cache with `copy.deepcopy`."""

    _keys: _Rows = field(default_factory=_Rows, repr=False)
    _values: _Rows = field(default_factory=_Rows, repr=False)

    def append(self, key: HeadVectors, value: HeadVectors) -> KeysValues:
        """Put new rows behind the old ones; return all of them."""
        if self.key is None or self.value is None:
            return super().append(key, value)
        check_new_rows("key", self.key, key)
        check_new_rows("value", self.value, value)
        self.key, self.value = self._keys.joined(self.key, key), self._values.joined(self.value, value)
        return self.key, self.value

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self._keys.selected(self.key, rows), self._values.selected(self.value, rows)


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

    def append(self, key: HeadVectors, value: HeadVectors) -> KeysValues:
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


class SearchCache(DecoderCache):
    """A `DecoderCache` with buffers for the target's rows, and the sources' rows kept once."""

    def __init__(self, num_layers: int) -> None:
        super().__init__(num_layers)
        self.layers = [LayerCache(BufferedCache(), SharedCache()) for _ in range(num_layers)]
