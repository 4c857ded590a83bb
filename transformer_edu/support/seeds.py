"""Random numbers that depend on a seed alone."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Draw from `seed` inside, and leave the random state outside as it was.

    Args:
        seed: of torch's generators, as in `torch.manual_seed`.
        device: where numbers are drawn besides the CPU. On a GPU its state is put back, too.
    """
    device = torch.device(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
