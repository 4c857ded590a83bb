"""Clocks that are fair to everyone: contenders take turns, and the median counts."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from math import log
from pathlib import Path
from statistics import linear_regression, median

import torch

from transformer_edu.fast.process import quick_products

Task = Callable[[], object]


def synchronize() -> None:
    """Wait until a GPU, if there is one, has done what it was told."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds_of(task: Task) -> float:
    """Wall-clock seconds of one call."""
    synchronize()
    start = time.perf_counter()
    task()
    synchronize()
    return time.perf_counter() - start


def alternate(tasks: Mapping[str, Task], rounds: int, warm_up: int = 1) -> dict[str, float]:
    """Median seconds of each task. Every round calls each of them once, every other round in the opposite order,
    so that a machine that is busy for a while, or a task that leaves a cold cache behind, slows all of them alike.
    """
    for _ in range(warm_up):
        for task in tasks.values():
            task()
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(rounds):
        for name in list(tasks) if number % 2 == 0 else reversed(list(tasks)):
            taken[name].append(seconds_of(tasks[name]))
    return {name: median(times) for name, times in taken.items()}


def ratios(seconds: Mapping[str, float], ours: str = "ours") -> dict[str, float]:
    """How many times as fast as each other contender we are: their seconds over ours."""
    return {name: round(theirs / seconds[ours], 3) for name, theirs in seconds.items() if name != ours}


def fitted_exponent(lengths: Sequence[int], seconds: Sequence[float]) -> float:
    """The b of seconds = a · length^b, by least squares on the logarithms."""
    return linear_regression([log(length) for length in lengths], [log(value) for value in seconds]).slope


def matrix_product_peaks(size: int = 2048, rounds: int = 7) -> dict[str, float]:
    """Floating-point operations a second of a float32 product of two size x size matrices, PyTorch's way and ours."""
    a, b = torch.randn(size, size), torch.randn(size, size)

    def ours() -> None:
        with quick_products():
            a @ b

    seconds = alternate({"torch.mm": lambda: a @ b, "inside quick_products": ours}, rounds)
    return {name: 2 * size**3 / taken for name, taken in seconds.items()}


def peak_bytes() -> int:
    """The most memory that this process has had so far.

    On Linux from /proc: `ru_maxrss` of a new process starts at the peak of the one that started it.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def growth_bytes(task: Task) -> int:
    """By how much the peak memory of this process grows during `task`; call it in a process of its own."""
    before = peak_bytes()
    task()
    return peak_bytes() - before


def in_new_process(script: str, *arguments: str) -> str:
    """What `script`, a file of this folder, prints last when a fresh interpreter runs it with as many threads."""
    threads = str(torch.get_num_threads())
    command = [sys.executable, script, *arguments, "--threads", threads]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1]
