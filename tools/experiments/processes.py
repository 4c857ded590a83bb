"""Runs of an experiment side by side."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


def in_processes(run: Callable[..., Result], jobs: Sequence[tuple[Any, ...]], processes: int) -> list[Result]:
    """What `run(*job)` returns for each job, in their order; each process starts afresh. `run` is picklable."""
    with ProcessPoolExecutor(processes, mp_context=torch.multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(run, *zip(*jobs, strict=True)))
