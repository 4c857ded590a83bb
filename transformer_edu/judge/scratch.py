"""A folder for foreign code to write in, which is deleted whatever was done to it."""

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ENTRY = 4096  # what a name counts, so that a million empty files are too much as well


@contextmanager
def folder() -> Iterator[Path]:
    """A new temporary folder, deleted in the end."""
    path = Path(tempfile.mkdtemp(prefix="transformer-edu-")).resolve()
    try:
        yield path
    finally:
        remove(path)


def holds_more(path: Path, limit: int) -> bool:
    """Whether what lies in a folder takes more than `limit` bytes of disk; stops counting there."""
    total = 0
    waiting = [os.fspath(path)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                total += ENTRY + _size(entry)
                if total > limit:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return False


def _size(entry: os.DirEntry[str]) -> int:
    with suppress(OSError):
        found = entry.stat(follow_symlinks=False)
        return getattr(found, "st_blocks", found.st_size // 512) * 512
    return 0


def remove(path: Path) -> None:
    """Delete a folder. What lies deeper is moved up first: folders nested without end would end `shutil.rmtree`."""
    with suppress(OSError):
        while inner := _emptied(path):
            for subfolder in inner:
                for deeper in _emptied(subfolder):
                    deeper.rename(path / secrets.token_hex(8))
                subfolder.rmdir()
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)


def _emptied(path: Path) -> list[Path]:
    """Delete the files in a folder; returns the folders in it, opened to us."""
    path.chmod(stat.S_IRWXU)
    inner = []
    with os.scandir(path) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, stat.S_IRWXU)
                inner.append(Path(entry.path))
            else:
                os.unlink(entry.path)
    return inner
