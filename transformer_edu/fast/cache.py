"""A cache that moves less: preallocated buffers for the target's rows."""

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
        closed = self.buffer is not None and self.buffer.is_inference() and not torch.is_inference_mode_enabled()
        if self.buffer is None or self.buffer.shape[-2] < end or closed:
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


def _may_overwrite(*tensors: Tensor) -> bool:
    """Not where a gradient needs what it was computed from, nor where PyTorch transforms, traces or exports."""
    return not torch.is_grad_enabled() and is_plain(*tensors)


class SearchCache(DecoderCache):
    """A `DecoderCache` with buffers for the target's rows."""

    def __init__(self, num_layers: int) -> None:
        super().__init__(num_layers)
        self.layers = [LayerCache(BufferedCache()) for _ in range(num_layers)]
