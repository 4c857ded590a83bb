"""Pairs of sequences of different lengths become tensors: padding, the shifted target, shuffled batches."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, IdPair, Vocabulary
from transformer_edu.support.validation import check_positive_integer


@dataclass(frozen=True)
class Batch:
    """One batch of sentence pairs, padded on the right.

    The decoder reads `target_in` (`<bos>` y1 .. yn) and must say `target_out` (y1 .. yn `<eos>`): the same words,
    one step later, so that position t is asked for the word that it has not read yet.
    """

    source: Int[Tensor, "batch src_len"]
    target_in: Int[Tensor, "batch tgt_len"]
    target_out: Int[Tensor, "batch tgt_len"]
    pad_id: int = PAD_ID

    @property
    def tokens(self) -> int:
        """How many target tokens the loss counts: all but the padding."""
        return int((self.target_out != self.pad_id).sum())

    def __len__(self) -> int:
        return self.source.size(0)

    def to(self, device: torch.device | str) -> "Batch":
        """The batch on another device."""
        moved = {name: getattr(self, name).to(device) for name in ("source", "target_in", "target_out")}
        return replace(self, **moved)


def pad_sequences(sequences: Sequence[Sequence[int]], pad_id: int = PAD_ID) -> Int[Tensor, "batch seq"]:
    """Sequences of ids as one tensor, as long as the longest of them, filled up on the right with `pad_id`.

    >>> pad_sequences([[5, 6, 7], [8]])
    tensor([[5, 6, 7],
            [8, 0, 0]])
    """
    if not sequences:
        raise ValueError("sequences must hold at least one sequence, got an empty batch")
    longest = max(len(sequence) for sequence in sequences)
    return torch.tensor(
        [[*sequence, *[pad_id] * (longest - len(sequence))] for sequence in sequences], dtype=torch.long
    )


def make_batch(
    pairs: Sequence[IdPair],
    *,
    pad_id: int = PAD_ID,
    bos_id: int = BOS_ID,
    eos_id: int = EOS_ID,
    source_vocab_size: int | None = None,
    target_vocab_size: int | None = None,
) -> Batch:
    """(source ids, target ids) pairs, without begin and end tokens, as one padded batch on the CPU.

    With the vocabulary sizes given, an id outside them is reported here, by its place: a GPU would only
    report it later, as an error from nowhere.
    """
    if not pairs:
        raise ValueError("pairs must hold at least one pair, got an empty batch")
    _check_ids([source for source, _ in pairs], "source", source_vocab_size, pad_id)
    _check_ids([target for _, target in pairs], "target", target_vocab_size, pad_id)
    return Batch(
        source=pad_sequences([source for source, _ in pairs], pad_id),
        target_in=pad_sequences([[bos_id, *target] for _, target in pairs], pad_id),
        target_out=pad_sequences([[*target, eos_id] for _, target in pairs], pad_id),
        pad_id=pad_id,
    )


def _check_ids(sequences: Sequence[Sequence[int]], name: str, vocab_size: int | None, pad_id: int) -> None:
    for row, ids in enumerate(sequences):
        if not ids:
            raise ValueError(f"{name} of pair {row} must hold at least one id, got none")
        for index in ids:
            if isinstance(index, bool) or not isinstance(index, int):
                raise TypeError(f"{name} of pair {row} must hold ids of type int, got {index!r}")
            if index < 0 or (vocab_size is not None and index >= vocab_size):
                last = "..." if vocab_size is None else vocab_size - 1
                raise ValueError(f"{name} of pair {row} must hold ids in 0 .. {last}, got {index}")
            if index == pad_id:
                raise ValueError(
                    f"{name} of pair {row} must not hold pad_id = {pad_id}: the batch adds the padding itself"
                )


def encode_pairs(pairs: Iterable[tuple[str, str]], source: Vocabulary, target: Vocabulary) -> list[IdPair]:
    """Sentence pairs as id pairs, without begin and end tokens (`make_batch` adds them where they belong)."""
    return [(source.encode(left), target.encode(right)) for left, right in pairs]


def iterate_batches(
    pairs: Sequence[IdPair], batch_size: int, *, seed: int | None = None, epochs: int | None = 1
) -> Iterator[Batch]:
    """Batches of at most `batch_size` pairs. `seed` shuffles, differently in each epoch; None keeps the order.

    `epochs=None` never ends: each epoch uses every pair once, and its last batch may be smaller.
    """
    check_positive_integer("batch_size", batch_size)
    if not pairs:
        raise ValueError("pairs must hold at least one pair, got none")
    rng, order = random.Random(seed), list(range(len(pairs)))
    epoch = 0
    while epochs is None or epoch < epochs:
        if seed is not None:
            rng.shuffle(order)
        for start in range(0, len(order), batch_size):
            yield make_batch([pairs[index] for index in order[start : start + batch_size]])
        epoch += 1
