"""Two toy tasks with one right answer each: copy a sequence, or reverse it."""

import torch

from transformer_edu.data.vocabulary import SPECIALS, IdPair
from transformer_edu.support.validation import check_positive_integer


def random_sequences(count: int, vocab_size: int, min_len: int, max_len: int, seed: int) -> list[list[int]]:
    """`count` sequences of uniform length in min_len .. max_len and uniform ids in 4 .. vocab_size-1.

    The ids 0 .. 3 are `<pad>`, `<bos>`, `<eos>`, `<unk>` and never occur as content.
    """
    check_positive_integer("count", count)
    if vocab_size <= len(SPECIALS):
        raise ValueError(f"vocab_size must be above {len(SPECIALS)}, the number of special ids, got {vocab_size}")
    if not 1 <= min_len <= max_len:
        raise ValueError(f"min_len must be in 1 .. max_len = {max_len}, got {min_len}")
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(min_len, max_len + 1, (count,), generator=generator).tolist()
    return [torch.randint(len(SPECIALS), vocab_size, (n,), generator=generator).tolist() for n in lengths]


def copy_pairs(count: int, vocab_size: int = 20, min_len: int = 3, max_len: int = 8, seed: int = 0) -> list[IdPair]:
    """Pairs whose target is the source. Learnable with attention straight ahead."""
    return [(ids, list(ids)) for ids in random_sequences(count, vocab_size, min_len, max_len, seed)]


def reverse_pairs(count: int, vocab_size: int = 20, min_len: int = 3, max_len: int = 8, seed: int = 0) -> list[IdPair]:
    """Pairs whose target is the source backwards. Needs positions: a bag of words cannot do it."""
    return [(ids, ids[::-1]) for ids in random_sequences(count, vocab_size, min_len, max_len, seed)]
