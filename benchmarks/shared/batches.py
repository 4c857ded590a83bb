"""Batches as training sees them: sentences of different lengths, padding at their ends."""

from dataclasses import dataclass

import torch
from torch import Tensor

from shared.contenders import BOS, EOS, FIRST_WORD, PAD


@dataclass(frozen=True)
class Batch:
    """Ids of both languages, (batch, seq): what the encoder reads, what the decoder reads, what it shall say."""

    source: Tensor
    target_in: Tensor
    target_out: Tensor

    @property
    def tokens(self) -> int:
        """Target tokens that are not padding."""
        return int((self.target_out != PAD).sum())

    def to(self, device: torch.device | str) -> "Batch":
        """The batch on another device."""
        return Batch(self.source.to(device), self.target_in.to(device), self.target_out.to(device))


def random_batch(sentences: int, longest: int, vocab_size: int, seed: int = 0, shortest: int | None = None) -> Batch:
    """Random words. Lengths are drawn evenly from `shortest` (None: three quarters) to `longest`; one is `longest`."""
    draw = torch.Generator().manual_seed(seed)
    shortest = max(2, 3 * longest // 4) if shortest is None else shortest
    sides = []
    for _ in range(2):
        ids = torch.randint(FIRST_WORD, vocab_size, (sentences, longest + 1), generator=draw)
        lengths = torch.randint(shortest, longest + 1, (sentences, 1), generator=draw)
        lengths[0] = longest
        position = torch.arange(longest + 1)
        sides.append(ids.masked_fill(position >= lengths, PAD).masked_fill(position == lengths - 1, EOS))
    source, target_out = sides[0][:, :longest], sides[1][:, :longest]
    start = torch.full((sentences, 1), BOS)
    target_in = torch.cat([start, target_out[:, :-1].masked_fill(target_out[:, :-1] == EOS, PAD)], dim=1)
    return Batch(source, target_in, target_out)
