"""What foreign code may use at most, and how its process is held to that by the operating system."""

import math
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import resource

OPEN_FILES = 128


@dataclass(frozen=True)
class Limits:
    """What a process of foreign code may use; sizes in bytes.

    The defaults leave a slow laptop room for every check of a whole Transformer, and stop what was never meant to end.
    """

    seconds: float = 60.0  # from the moment the child is locked down: importing torch does not count
    memory: int = 2 << 30  # beyond what Python and torch take themselves
    output: int = 64 << 20  # of the answer
    printed: int = 64 << 10  # what is kept of stdout and stderr: the end of it
    file: int = 16 << 20  # the largest file; all files together may hold four times that
    threads: int = 512  # at one time; more than any machine has cores


def hold(limits: Limits) -> list[str]:
    """Hold this process to `limits` for good; returns a sentence for each thing that this system does not limit."""
    if sys.platform == "win32":
        return ["On Windows neither memory, nor threads, nor the size of files is limited."]
    cores = os.cpu_count() or 1
    spent = resource.getrusage(resource.RUSAGE_SELF)
    _set(resource.RLIMIT_CPU, math.ceil(spent.ru_utime + spent.ru_stime + limits.seconds * cores) + 5)
    _set(resource.RLIMIT_FSIZE, limits.file)
    _set(resource.RLIMIT_NOFILE, OPEN_FILES)
    _set(resource.RLIMIT_CORE, 0)
    taken = _address_space()
    if taken is None:
        with suppress(OSError, ValueError):
            _set(resource.RLIMIT_NPROC, 1)  # threads do not count there: it only cannot fork
        return ["Memory and threads are not limited: only Linux tells how much of them a process has."]
    _set(resource.RLIMIT_AS, taken + limits.memory)
    return []


def _set(kind: int, most: int) -> None:
    """Set soft and hard limit, so that nothing but root could raise it, and never above a limit there already is."""
    if sys.platform != "win32":
        ceiling = resource.getrlimit(kind)[1]
        most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
        resource.setrlimit(kind, (most, most))


def _address_space() -> int | None:
    """How many bytes of addresses this process has; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
