"""Keep freed memory instead of handing it back to the operating system after every step."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # <malloc.h>
KEPT = 2**30  # bytes


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
