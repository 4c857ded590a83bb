"""The folder of a training run: its description, checkpoints to go on from, weights to average, and the log.

    run.json                          what the run is; written first, and compared whenever it is started or resumed
    tokenizer.json                    its tokenizer
    checkpoint-00001500.safetensors   everything that the run needs to go on as if nothing had happened
    weights-00001500.safetensors      the model alone, as it was when it was evaluated
    log.jsonl                         one line of JSON for every 50 steps and for every evaluation
    model.safetensors, card.json      the finished model

Each file is written whole or not at all, so a run may be killed at any moment. The folder belongs to one run: whatever
does not is refused by its name, and never mixed with the run's own files, removed or overwritten.
"""

import json
import re
import warnings
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_edu.saving.card import CARD, MODEL, TOKENIZER
from transformer_edu.saving.checkpoint import read_extra
from transformer_edu.saving.tensor_file import read_tensors, to_json, write_tensors
from transformer_edu.support.files import write_atomically

CHECKPOINT, WEIGHTS, LOG, RUN = "checkpoint", "weights", "log.jsonl", "run.json"
FORMAT = "transformer_edu.{}/1"
KEPT_CHECKPOINTS = 2  # the second in case the first is damaged
Saved = tuple[dict[str, Any], dict[str, Tensor]]
"""The header and the tensors of one file."""


class RunFolder:
    """Names, writes, finds and removes the files of one run, and of no other."""

    def __init__(self, path: str | Path, run: str | None = None) -> None:
        """`run`: the identity of the run (see `run_start`); None reads files of any run."""
        self.path, self.run = Path(path), run

    def saved(self, kind: str) -> list[int]:
        """The steps of which there is a file of this kind, ascending."""
        names = (re.fullmatch(rf"{kind}-(\d{{8,}})\.safetensors", file.name) for file in self.path.glob(f"{kind}-*"))
        return sorted(int(name[1]) for name in names if name)

    def file(self, kind: str, step: int) -> Path:
        """Where the file of this kind and step is."""
        return self.path / f"{kind}-{step:08d}.safetensors"

    def held(self) -> list[str]:
        """The names of all that a run has left here beyond its description and its tokenizer."""
        files = [self.file(kind, step).name for kind in (CHECKPOINT, WEIGHTS) for step in self.saved(kind)]
        return files + [name for name in (LOG, MODEL, CARD) if (self.path / name).exists()]

    def save(self, kind: str, step: int, tensors: dict[str, Tensor], header: dict[str, Any], keep: int) -> None:
        """Write one file, then remove those before the last `keep`."""
        write_tensors(self.file(kind, step), tensors, {"run": self.run, **header}, FORMAT.format(kind))
        for old in self.saved(kind)[:-keep]:
            self.file(kind, old).unlink(missing_ok=True)

    def load(self, kind: str, step: int) -> Saved:
        """The header and the tensors of one file; ValueError if it is damaged, ForeignFileError if another run's."""
        header, tensors = read_tensors(self.file(kind, step), FORMAT.format(kind))
        if self.run is not None and header.get("run") != self.run:
            raise self._foreign(self.file(kind, step))
        return header, tensors

    def whole(self, kind: str) -> Iterator[tuple[int, Saved]]:
        """The files of one kind, the newest first; each damaged one is reported and passed over."""
        for step in reversed(self.saved(kind)):
            try:
                yield step, self.load(kind, step)
            except ForeignFileError:
                raise
            except (ValueError, FileNotFoundError) as error:  # another process may just have removed it
                warnings.warn(f"{error}; it is passed over", stacklevel=2)

    def newest_checkpoint(self) -> Saved | None:
        """The newest checkpoint that is whole; None if the run was killed before its first.

        Raises:
            ForeignFileError: a file of the folder is another run's.
            ValueError: no checkpoint is whole, and what there is a run leaves only after its first.
        """
        checkpoints = self.whole(CHECKPOINT)
        newest = next(checkpoints, None)
        for files in (checkpoints, self.whole(WEIGHTS)):
            deque(files, maxlen=0)  # read to the end: they are averaged and removed, and may not be another run's
        finished = self._check_finished()
        if newest is None and (self.saved(CHECKPOINT) or len(self.saved(WEIGHTS)) > 1 or finished):
            raise ValueError(
                f"{self.path} must hold a checkpoint that is whole, but none is left of the run. Nothing was changed; "
                f"there are {', '.join(self.held())}. Put a checkpoint back, or start again in another folder"
            )
        return None if newest is None else newest[1]

    def _check_finished(self) -> list[str]:
        """What there is of the finished model, which will be written anew; ForeignFileError if it is another run's."""
        found = [name for name in (MODEL, CARD) if (self.path / name).exists()]
        for name in found:
            try:
                owner = (_card_of if name == CARD else read_extra)(self.path / name).get("run")
            except (ValueError, KeyError, AttributeError):  # damaged, or of another kind
                owner = None
            if self.run is not None and owner != self.run:
                raise self._foreign(self.path / name)
        return found

    def _foreign(self, path: Path) -> "ForeignFileError":
        return ForeignFileError(
            f"{path} must be of the run that {RUN} describes, but it is not: move it out of the folder, "
            "or start in another one"
        )

    def forget_after(self, step: int) -> None:
        """Remove what a run that is resumed at `step` will write again."""
        for kind in (CHECKPOINT, WEIGHTS):
            for later in self.saved(kind):
                if later > step:
                    self.file(kind, later).unlink(missing_ok=True)
        if (self.path / LOG).exists():
            kept = [line for line in self.log() if line.get("step", 0) <= step]
            write_atomically(self.path / LOG, "".join(to_json(line) + "\n" for line in kept).encode())

    def clear_halves(self) -> None:
        """Remove what a killed run left half-written."""
        for name in (f"{CHECKPOINT}-", f"{WEIGHTS}-", LOG, RUN, TOKENIZER, MODEL, CARD):
            for half in self.path.glob(f".{name}*"):
                half.unlink(missing_ok=True)

    def append(self, *lines: dict[str, Any]) -> None:
        """Add lines to the log, in place of a last one that was cut off."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / LOG).open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write("".join(to_json(line) + "\n" for line in lines).encode())

    def log(self) -> list[dict[str, Any]]:
        """The lines of the log; a last line that was cut off is left out, a damaged one is a ValueError."""
        path, lines = self.path / LOG, []
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
            try:
                lines.append(dict(json.loads(line)))
            except (ValueError, TypeError) as error:
                raise ValueError(f"line {number} of {path} is damaged ({error}): mend it, or delete it") from error
        return lines


def _card_of(path: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return card


class ForeignFileError(ValueError):
    """A file in the folder of a run is of another run."""
