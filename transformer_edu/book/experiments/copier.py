"""The trained copier of the figure and of chapter 18: copier.safetensors, and in copier.json how it came about.

`python -m transformer_edu.book.experiments.copier` makes both again, in the folder `copier` (`--out` names another).
"""

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_edu.book.engine.page_file import packed, unpacked
from transformer_edu.book.experiments.induction import STEPS, Copier, losses, train_copier
from transformer_edu.saving.tensor_file import read_tensors, write_tensors
from transformer_edu.support.files import write_atomically
from transformer_edu.support.provenance import provenance
from transformer_edu.support.threads import one_thread

KIND = "copier"
_FOLDER = Path(__file__).parent
FILE = _FOLDER / "copier.safetensors"
BITS = 8  # of a matrix's entry, as the page reads it


def load_copier() -> Copier:
    """Two layers of attention, one head each, that have learnt to copy; in evaluation mode.

    Raises:
        ValueError: the file is damaged.
    """
    return unpacked_copier(read_tensors(FILE, KIND)[1])


def unpacked_copier(tensors: Mapping[str, Tensor]) -> Copier:
    """The model of the weights in the file, in evaluation mode and float32."""
    model = Copier()
    model.load_state_dict(unpacked(tensors))
    return model.eval()


def copier_card() -> dict[str, Any]:
    """Command, commit, machine, date, seed, steps, losses on unseen sequences, checksum of the file."""
    card: dict[str, Any] = json.loads((_FOLDER / "copier.json").read_text(encoding="utf-8"))
    return card


def main(arguments: list[str] | None = None) -> None:
    """Train, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=Path("copier"))
    options = parser.parse_args(arguments)
    facts = provenance(f"python -m transformer_edu.book.experiments.copier --seed {options.seed}")
    with one_thread():
        tensors = packed(train_copier(seed=options.seed, steps=options.steps)[0].state_dict(), BITS)
    path = options.out / FILE.name
    write_tensors(path, tensors, {}, KIND)
    found = {name: round(loss, 4) for name, loss in losses(unpacked_copier(tensors)).items()}  # of the rounded weights
    told = {"seed": options.seed, "steps": options.steps, "losses": found}
    card = {**facts, **told, "weights_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    write_atomically(options.out / "copier.json", (json.dumps(card, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
