"""What a command that trains for long tells its process; nothing of it changes what is computed beyond rounding."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # <malloc.h>
KEPT = 2**30  # bytes
EXACT = 1e-4  # float32 sums of 256 products of normal numbers are nearer to the truth; bfloat16's are 0.1 away


def keep_freed_memory() -> bool:
    """Tell glibc to keep up to 1 GiB of freed memory; True if it could be told.

    By default each tensor above 32 MB is a fresh piece from the operating system, page by page, and is handed back
    at once: writing to new pages takes longer than computing on them.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return all(
        mallopt(option, value) for option, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, KEPT), (M_TOP_PAD, 2**26))
    )


@contextmanager
def quick_products() -> Iterator[bool]:
    """Inside, oneDNN computes products of float32 matrices where that takes half the time; whether it does.

    PyTorch gives them to MKL, which leaves the wide (AVX-512) arithmetic of AMD processors unused, and to oneDNN once
    lower precision is allowed. oneDNN makes no use of that on these processors: a product is computed to be sure.
    """
    now = torch.get_float32_matmul_precision()
    quick = now == "highest" and _mkl_is_slow() and not torch.cuda.is_available()
    if quick:
        with product_precision("medium"):
            quick = _product_error() < EXACT
    with product_precision("medium" if quick else now):
        yield quick


@contextmanager
def product_precision(precision: str) -> Iterator[None]:
    """Inside, products of float32 matrices are as `torch.set_float32_matmul_precision` says."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _product_error() -> float:
    draw = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=draw) for _ in range(2))
    return float((a @ b - a.double() @ b.double()).abs().max())


def _mkl_is_slow() -> bool:
    """Whether this is an AMD processor with AVX-512, and PyTorch came with both libraries."""
    has_both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    if not has_both or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    told = Path("/proc/cpuinfo")  # on Linux
    return told.exists() and "AuthenticAMD" in told.read_text(encoding="utf-8")
