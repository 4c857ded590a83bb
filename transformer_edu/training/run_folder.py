"""The folder of a training run: checkpoints to go on from, weights to average, and the log.

    checkpoint-00001500.safetensors   everything that the run needs to go on as if nothing had happened
    weights-00001500.safetensors      the model alone, as it was when it was evaluated
    log.jsonl                         one line of JSON for every 50 steps and for every evaluation

Each file is written whole or not at all, so a run may be killed at any moment.
"""

import json
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_edu.data.files import write_atomically
from transformer_edu.training.tensor_file import read_tensors, to_json, write_tensors

CHECKPOINT, WEIGHTS, LOG = "checkpoint", "weights", "log.jsonl"
FORMAT = "transformer_edu.{}/1"
KEPT_CHECKPOINTS = 2  # the second in case the first is damaged


class RunFolder:
    """Names, writes, finds and removes the files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def saved(self, kind: str) -> list[int]:
        """The steps of which there is a file of this kind, ascending."""
        names = (re.fullmatch(rf"{kind}-(\d+)\.safetensors", file.name) for file in self.path.glob(f"{kind}-*"))
        return sorted(int(name[1]) for name in names if name)

    def file(self, kind: str, step: int) -> Path:
        """Where the file of this kind and step is."""
        return self.path / f"{kind}-{step:08d}.safetensors"

    def save(self, kind: str, step: int, tensors: dict[str, Tensor], header: dict[str, Any], keep: int) -> None:
        """Write one file, then remove those before the last `keep`."""
        write_tensors(self.file(kind, step), tensors, header, FORMAT.format(kind))
        for old in self.saved(kind)[:-keep]:
            self.file(kind, old).unlink(missing_ok=True)

    def load(self, kind: str, step: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The header and the tensors of one file; ValueError if it is damaged."""
        return read_tensors(self.file(kind, step), FORMAT.format(kind))

    def newest_checkpoint(self) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """The newest checkpoint that is whole; each damaged one is reported and passed over."""
        for step in reversed(self.saved(CHECKPOINT)):
            try:
                return self.load(CHECKPOINT, step)
            except (ValueError, FileNotFoundError) as error:  # another process may just have removed it
                warnings.warn(f"{error}; trying the checkpoint before it", stacklevel=2)
        return None

    def forget_after(self, step: int) -> None:
        """Remove what a run that is resumed at `step` will write again, and what a killed one left half-written."""
        for kind in (CHECKPOINT, WEIGHTS):
            for later in self.saved(kind):
                if later > step:
                    self.file(kind, later).unlink(missing_ok=True)
            for half in self.path.glob(f".{kind}-*"):
                half.unlink(missing_ok=True)
        if (self.path / LOG).exists():
            kept = [line for line in self.log() if line.get("step", 0) <= step]
            write_atomically(self.path / LOG, "".join(to_json(line) + "\n" for line in kept).encode())

    def append(self, *lines: dict[str, Any]) -> None:
        """Add lines to the log."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / LOG).open("a", encoding="utf-8") as file:
            file.writelines(to_json(line) + "\n" for line in lines)

    def log(self) -> list[dict[str, Any]]:
        """The lines of the log; a last line that was cut off is left out."""
        lines: Iterable[str] = (self.path / LOG).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]
