"""One process or several: each computes its share of a batch, and all take the same step (torchrun).

Of `world_size` processes each has a `rank`. Sums over all of them are those that one process alone would get.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from transformer_edu.support.device import pick_device

PATIENCE = timedelta(seconds=50)  # a process that is silent for so long is taken for dead
Item = TypeVar("Item")


@dataclass(frozen=True)
class Processes:
    """Who computes: this process's rank, how many there are, and the device of this one."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def is_main(self) -> bool:
        """Whether this process is the one that writes files and shows progress."""
        return self.rank == 0

    def share(self, items: Sequence[Item], part: int = 0, parts: int = 1) -> list[Item]:
        """This process's share of `items`, the `part`-th of `parts`: every n-th, so that lengths are alike."""
        return list(items[self.rank * parts + part :: self.world_size * parts])

    def sum(self, value: Tensor) -> Tensor:
        """The sum of a number over all processes."""
        if self.world_size > 1:
            dist.all_reduce(value)
        return value

    def gather(self, mine: list[Item]) -> list[Item]:
        """The items of which every process holds its `share`, all of them, in their order."""
        if self.world_size == 1:
            return mine
        shares: list[Any] = [None] * self.world_size
        dist.all_gather_object(shares, mine)
        whole: list[Any] = [None] * sum(len(share) for share in shares)
        for rank, share in enumerate(shares):
            whole[rank :: self.world_size] = share
        return whole

    def wait(self) -> None:
        """Wait until everybody is here."""
        if self.world_size > 1:
            dist.barrier()


@contextmanager
def process_group() -> Iterator[Processes]:
    """The processes that torchrun's environment describes (RANK, WORLD_SIZE, LOCAL_RANK), or this process alone.

    GPUs talk through NCCL, CPUs through gloo. When one dies, the others get an error instead of waiting on.
    """
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    device = pick_device()
    if world_size == 1:
        yield Processes(0, 1, device)
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Processes(dist.get_rank(), world_size, device)
    finally:
        dist.destroy_process_group()
