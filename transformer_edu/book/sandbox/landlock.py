"""Files are written in one folder only, and read in some: Landlock, by which a process gives up rights (Linux 5.13).

See https://docs.kernel.org/userspace-api/landlock.html. Landlock does not know of permissions, owners, times and
extended attributes: `seccomp.py` refuses to change those.
"""

import ctypes
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from transformer_edu.book.sandbox import kernel

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
VERSION, PATH_BENEATH = 1, 1

WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
# Execute, read a file, list a folder: bits 0, 2 and 3, which stay allowed everywhere unless folders are named. Then, by
# version of Landlock, the first bit that it does not know: renaming into another folder came with 2, truncating with 3,
# ioctl with 5.
LISTING = 1 << 3
READING = 1 << 0 | 1 << 2 | LISTING
UNKNOWN_FROM = {1: 13, 2: 14, 3: 15, 4: 15}
DEVICES = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15  # make devices, sockets and named pipes, and control them
TCP = 0b11  # bind, connect; from version 4
OUTSIDE = 0b11  # abstract Unix sockets of, and signals to, processes outside; from version 6


def restrict(folder: Path, readable: Sequence[Path] | None = None) -> list[str]:
    """From now on this thread, and those it starts, write only below `folder` and to /dev/null; what it could not do.

    Where `readable` names folders, files are read there and below `folder` only. Needs "no new privileges" to be set.
    """
    try:
        version = kernel.call(CREATE_RULESET, None, 0, VERSION)
        _restrict(folder, readable, version)
    except OSError:
        reading = [] if readable is None else ["Every file that you can read can be read: this kernel has no Landlock."]
        return ["Files outside its own folder can be written: this kernel has no Landlock.", *reading]
    unsaid = []
    if version < 3:
        unsaid.append("Files outside its own folder can be emptied: this kernel's Landlock is older than Linux 6.2.")
    if len(os.listdir("/proc/self/task")) > 1:
        unsaid.append("Threads that ran already can write files outside its own folder.")
    return unsaid


def _restrict(folder: Path, readable: Sequence[Path] | None, version: int) -> None:
    writing = (1 << UNKNOWN_FROM.get(version, 16)) - 1 & ~READING
    reading = 0 if readable is None else READING
    handled = struct.pack("=QQQ", writing | reading, TCP * (version >= 4), OUTSIDE * (version >= 6))
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = kernel.call(CREATE_RULESET, ctypes.create_string_buffer(handled, 24), size, 0)
    try:
        _allow(ruleset, folder, writing & ~DEVICES | reading)
        for path in readable or ():
            _allow(ruleset, path, reading if path.is_dir() else reading & ~LISTING)
        _allow(ruleset, Path(os.devnull), writing & (WRITE_FILE | TRUNCATE))
        kernel.call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    below = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights, below)
        kernel.call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.create_string_buffer(rule, 12), 0)
    finally:
        os.close(below)
