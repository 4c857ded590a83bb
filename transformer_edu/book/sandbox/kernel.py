"""Calls of the Linux kernel for which Python has no function."""

import ctypes
import os
import struct
import sys

ON_LINUX = sys.platform == "linux" and sys.maxsize > 2**32

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SCHED_CORE = 1, 4, 38, 62


def call(number: int, *arguments: int | ctypes.Array | None) -> int:
    """Make the system call `number` and return its result.

    Raises:
        OSError: the kernel refused, or does not have this call.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return _checked(result)


def prctl(option: int, value: int) -> None:
    """Change something about this process.

    Raises:
        OSError: the kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.prctl(option, *(ctypes.c_ulong(a) for a in (value, 0, 0, 0))))


def drop_privileges() -> None:
    """Keep of root's powers only that to read and search everywhere: foreign code may lie where others may not look.

    Raises:
        OSError: the kernel refused.
    """
    capget, capset = {"x86_64": (125, 126), "aarch64": (90, 91)}[os.uname().machine]
    version_3, this_process, cap_dac_read_search = 0x20080522, 0, 1 << 2
    header = ctypes.create_string_buffer(struct.pack("=Ii", version_3, this_process), 8)
    sets = ctypes.create_string_buffer(24)  # effective, permitted, inheritable: the low 32 bits of each, then the high
    call(capget, header, sets)
    kept = struct.unpack("=6I", sets.raw)[1] & cap_dac_read_search
    call(capset, header, ctypes.create_string_buffer(struct.pack("=6I", kept, kept, 0, 0, 0, 0), 24))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
