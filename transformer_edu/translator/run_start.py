"""Take a folder for a run: alone, with room to write, and only if what it holds is of this run."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from transformer_edu.data.tokenizer import Subwords
from transformer_edu.saving.size import parameter_count
from transformer_edu.support.files import check_writable, write_atomically
from transformer_edu.translator.run_description import differences
from transformer_edu.translator.run_folder import CHECKPOINT, KEPT_CHECKPOINTS, RUN, RunFolder
from transformer_edu.translator.settings import TrainingSettings
from transformer_edu.translator.translator import TOKENIZER

LOCK = ".lock"


@contextmanager
def alone_in(path: str | Path) -> Iterator[None]:
    """Hold a folder, made if it is missing, against every other training; ValueError if another process holds it.

    The lock is one of the operating system: it ends with its process, however that ends, so a file that a killed one
    left behind locks nothing.
    """
    from filelock import FileLock, Timeout  # here, so that importing the package stays light

    path = Path(path)
    file, lock = path / LOCK, FileLock(path / LOCK, timeout=0)
    try:
        check_writable(RunFolder(path).file(CHECKPOINT, 0))
        path.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise ValueError(
            f"out must be a folder that no other process trains in, but {_holder(file)} does in {path}: "
            "wait for it, or name another folder"
        ) from error
    except OSError as error:
        raise OSError(f"out must be a folder that can be written, but {path} is not: {error.strerror}") from error
    try:
        with suppress(OSError):  # Windows locks what it would write
            file.write_text(str(os.getpid()))
        yield
    finally:
        with suppress(OSError):
            file.unlink()
        lock.release()


def _holder(file: Path) -> str:
    try:
        return f"process {int(file.read_text())}"
    except (OSError, ValueError):
        return "one"


def check_start(folder: RunFolder, resume: bool) -> None:
    """Raise a ValueError that names the files which keep a run from being started, or resumed, in a folder."""
    held = ", ".join(folder.held())
    if held and not resume:
        raise ValueError(
            f"out must be a new folder, but {folder.path} holds {held}: add --resume to go on with that run, "
            "or name another folder"
        )
    if held and not (folder.path / RUN).exists():
        raise ValueError(
            f"out must be the folder of a run, but {folder.path} holds {held} without the {RUN} that says of which: "
            "put it back, or name another folder"
        )


def check_room(folder: RunFolder, settings: TrainingSettings, vocab_size: int) -> None:
    """Raise unless the disk has room for all that a run will hold at once."""
    size = parameter_count(settings.model_config(vocab_size)) * (8 if settings.precision == "float64" else 4)
    copies = 3 * (KEPT_CHECKPOINTS + 1) + (settings.average + 1) + 1  # Adam has two averages; one more while writing
    free = shutil.disk_usage(folder.path).free + sum((folder.path / name).stat().st_size for name in folder.held())
    if size * copies > free:
        raise OSError(
            f"out must be on a disk with room for the {size * copies:,} bytes of checkpoints and weights "
            f"(see --average), but {folder.path} has {free:,}"
        )


def known_subwords(folder: RunFolder) -> Subwords | None:
    """Those that a run has written to its folder, with its description."""
    path = folder.path / TOKENIZER
    return Subwords.load(path) if path.exists() and (folder.path / RUN).exists() else None


def claim(folder: RunFolder, description: dict[str, Any], subwords: Subwords) -> None:
    """Write what the run is, and its subwords, or raise a ValueError that says what is there and does not fit."""
    path, tokenizer = folder.path / RUN, folder.path / TOKENIZER
    if path.exists():
        differing = differences(_read(path), description)
        if differing:
            raise ValueError(f"the run must be that of {path}, but differs from it in {'; '.join(differing)}")
    elif tokenizer.exists() and Subwords.load(tokenizer) != subwords:
        raise ValueError(
            f"out must be a new folder, but {tokenizer} holds other subwords than this run's: "
            "delete it, or name another folder"
        )
    else:
        write_atomically(path, (json.dumps(description, indent=1, ensure_ascii=False) + "\n").encode())
    folder.clear_halves()
    if not tokenizer.exists():
        subwords.save(tokenizer)


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}): put it back from a copy, or name another folder") from error
