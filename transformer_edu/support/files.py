"""Write a file whole or not at all."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write `content` to a temporary file beside `path`, then rename it: a reader sees the old file or the new one.

    Renaming within one folder is atomic (POSIX rename, Windows ReplaceFile), so a crash leaves no half-written file.
    Folders that are missing are made. A new file has the permissions that any program's files get (umask), an old one
    keeps its own. A symbolic link stays, and what it points to is replaced. A device, a pipe, or what standard output
    goes to already (/dev/stdout) is written to and not replaced.

    Raises:
        OSError: it cannot be written (a full disk, no permission, a folder of that name); nothing is left behind.
    """
    with _naming(path):
        stream = _stream(path)
        if stream is None:
            _replace(_file_behind(path), content)
        else:
            with open(stream, "ab", closefd=not isinstance(stream, int)) as file:
                file.write(content)


def check_writable(path: str | Path) -> None:
    """Raise what `write_atomically` would raise, as far as that can be known before: for use ahead of long work.

    Raises:
        OSError: a folder of that name, no permission, a name that the disk does not take; nothing is left behind.
    """
    with _naming(path):
        if _stream(path) is None:
            target = _file_behind(path)
            probe = _beside(_nearest_folder(target) / target.name)
            probe.touch(exist_ok=False)
            probe.unlink()
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _stream(path: str | Path) -> str | Path | int | None:
    """What to open if `path` must not be replaced: a device, a pipe, or (its number) our own standard output."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    for descriptor in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
    return None if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else path


def _file_behind(path: str | Path) -> Path:
    """The file to replace, links followed; an error if there cannot be one of that name, or it may not be replaced."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, and must be a file")
    if target.exists() and not os.access(target, os.W_OK):  # a rename would not ask
        raise PermissionError(errno.EACCES, "it is read-only")
    existing = _nearest_folder(target)
    for name in target.relative_to(existing).parts:  # the folders that are missing, and the file
        with suppress(FileNotFoundError):
            os.lstat(existing / name)  # OSError for a name that is too long
    return target


def _nearest_folder(target: Path) -> Path:
    return next(folder for folder in target.parents if folder.exists())


def _beside(target: Path) -> Path:
    """A name for a temporary file: it begins like the target's, but not with all of it, for 255 bytes are the limit."""
    return target.with_name(f".{target.name[:48]}.{secrets.token_hex(8)}")


def _replace(target: Path, content: bytes) -> None:
    temporary = _beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Errors name the file that the caller named, not a temporary one, and not none."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
