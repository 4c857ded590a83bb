"""Begin a run: say what it is, and take a folder for it, alone, with room to write, and only if all in it is its own.

Two runs of one description take equal steps.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from transformer_edu.data.multi30k import digest
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.folder import CHECKPOINT, KEPT_CHECKPOINTS, RUN, RunFolder
from transformer_edu.runs.settings import RunSettings
from transformer_edu.runs.task import Task
from transformer_edu.saving.card import TOKENIZER
from transformer_edu.support.files import check_writable, write_atomically

FORMAT, LOCK = "transformer_edu.run/1", ".lock"
Texts = TypeVar("Texts")
AnyTask = TypeVar("AnyTask", bound=Task)
GIVEN = "given"  # what a run may differ in when it goes on, kept so that nobody has to say it again


def describe(settings: RunSettings, texts: Mapping[str, Mapping[str, Any]], tokenizer: Tokenizer) -> dict[str, Any]:
    """Everything that decides what a run computes; of a text the content, not where it lies.

    Args:
        settings: of the run.
        texts: by the name of their split, how many there are and checksums of them.
        tokenizer: what cuts them.
    """
    pieces = {"pieces": len(tokenizer), "sha256": digest([tokenizer.to_str()])}
    return {"format": FORMAT, "settings": settings.course(), **texts, "tokenizer": pieces}


def identity(description: Mapping[str, Any]) -> str:
    """A name for the run that follows from its description; every file of its folder carries it."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:32]


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What two descriptions differ in, with both values."""
    old, new = _flat(then), _flat(now)
    names = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    return [f"{name}: {_shown(old.get(name))} then, {_shown(new.get(name))} now" for name in names]


def _flat(description: Mapping[str, Any]) -> dict[str, Any]:
    """{"settings": {"seed": 0}, "train": {"pairs": 9}} as {"seed": 0, "train pairs": 9}."""
    flat: dict[str, Any] = {}
    for part, content in description.items():
        prefix = "" if part == "settings" else f"{part} "
        inner = content if isinstance(content, dict) else {"": content}
        flat |= {f"{prefix}{name}".strip(): value for name, value in inner.items()}
    return flat


def _shown(value: Any) -> str:
    return f"{value[:12]}…" if isinstance(value, str) and len(value) == 64 else repr(value)


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


def check_room(folder: RunFolder, settings: RunSettings, parameters: int) -> None:
    """Raise unless the disk has room for all that a run of a model of so many parameters will hold at once."""
    size = parameters * (8 if settings.precision == "float64" else 4)
    copies = 3 * (KEPT_CHECKPOINTS + 1) + (settings.average + 1) + 1  # Adam has two averages; one more while writing
    free = shutil.disk_usage(folder.path).free + sum((folder.path / name).stat().st_size for name in folder.held())
    if size * copies > free:
        raise OSError(
            f"out must be on a disk with room for the {size * copies:,} bytes of checkpoints and weights "
            f"(see --average), but {folder.path} has {free:,}"
        )


def prepare(
    settings: RunSettings,
    processes: Processes,
    resume: bool,
    read: Callable[[], Texts],
    learn: Callable[[Texts], Tokenizer],
    cut: Callable[[Texts, Tokenizer], AnyTask],
    parameters: Callable[[Tokenizer], int],
) -> AnyTask:
    """Read the text and cut it, and take the folder for the run. The first process learns the vocabulary and writes.

    Args:
        settings, processes, resume: of the run.
        read: the texts.
        learn: a tokenizer of the texts, unless the run has one.
        cut: the task of texts and tokenizer.
        parameters: how many numbers the model will have.

    Raises:
        ValueError: what would end the run later, or a folder that holds another run.
        OSError: a file cannot be read, or the folder not be written.
    """
    folder = RunFolder(settings.out)
    if processes.is_main:
        check_start(folder, resume)
    texts = read()
    if not processes.is_main:
        processes.wait()  # until the first process has written them
        return cut(texts, Tokenizer.load(folder.path / TOKENIZER))
    tokenizer = known_tokenizer(folder) or learn(texts)
    task = cut(texts, tokenizer)
    folder.path.mkdir(parents=True, exist_ok=True)
    check_room(folder, settings, parameters(tokenizer))
    claim(folder, task.description, tokenizer, settings.lenient())
    processes.wait()
    return task


def known_tokenizer(folder: RunFolder) -> Tokenizer | None:
    """The one that a run has written to its folder, with its description."""
    path = folder.path / TOKENIZER
    return Tokenizer.load(path) if path.exists() and (folder.path / RUN).exists() else None


def remembered(out: str | Path, kind: type[RunSettings]) -> dict[str, Any]:
    """The settings of the run in a folder, those of this `kind`, as far as they are written there.

    Raises:
        ValueError: there is no such folder, so nothing to go on with.
    """
    if not Path(out).is_dir():
        raise ValueError(f"out must be the folder of a run to go on with (--resume), but there is no {out}")
    path = Path(out) / RUN
    if not path.exists():
        return {}  # killed before its first step
    written = _read(path)
    known = {setting.name for setting in fields(kind)}
    settings = {**written.get("settings", {}), **written.get(GIVEN, {})}
    return {name: value for name, value in settings.items() if name in known}


def claim(
    folder: RunFolder, description: dict[str, Any], tokenizer: Tokenizer, given: Mapping[str, Any] | None = None
) -> None:
    """Write what the run is, and its tokenizer, or raise a ValueError that says what is there and does not fit."""
    path, saved = folder.path / RUN, folder.path / TOKENIZER
    if path.exists():
        then = _read(path)
        differing = differences({part: then[part] for part in then if part != GIVEN}, description)
        if differing:
            raise ValueError(f"the run must be that of {path}, but differs from it in {'; '.join(differing)}")
    elif saved.exists() and Tokenizer.load(saved) != tokenizer:
        raise ValueError(
            f"out must be a new folder, but {saved} is another tokenizer than this run's: "
            "delete it, or name another folder"
        )
    else:
        whole = {**description, GIVEN: dict(given or {})}
        write_atomically(path, (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())
    folder.clear_halves()
    if not saved.exists():
        tokenizer.save(saved)


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}): put it back from a copy, or name another folder") from error
