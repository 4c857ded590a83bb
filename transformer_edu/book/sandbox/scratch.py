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
    """Whether what lies in a folder takes more than `limit` bytes of disk; stops counting there.

    What may not be looked at, or lies too deep for that, is too much.
    """
    total = 0
    waiting = [os.fspath(path)]
    if limit < 0:
        return True  # what is held elsewhere is too much already, and the folder may be empty
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += ENTRY + _size(entry)
                    if total > limit:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone again
        except OSError:
            return True
    return False


def held(process: int, path: Path, largest: int) -> int:
    """How many bytes of disk the files take that were deleted in a folder while a process keeps them (Linux).

    Those that it has open are counted as they are. Those that it has only mapped tell their names and no size, and
    count as the largest that a file may be.
    """
    sizes, start = {}, f"{path}/"
    with suppress(OSError):
        for descriptor in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                found = os.stat(f"/proc/{process}/fd/{descriptor}")
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                    sizes[found.st_ino] = _on_disk(found)
        for line in Path(f"/proc/{process}/maps").read_text("utf-8", "replace").splitlines():
            _, _, _, _, inode, *name = line.split(maxsplit=5)
            if name and name[0].startswith(start) and name[0].endswith(" (deleted)"):
                sizes.setdefault(int(inode), largest)
    return sum(sizes.values())


def _size(entry: os.DirEntry[str]) -> int:
    with suppress(OSError):
        return _on_disk(entry.stat(follow_symlinks=False))
    return 0


def _on_disk(found: os.stat_result) -> int:
    return getattr(found, "st_blocks", found.st_size // 512) * 512


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
