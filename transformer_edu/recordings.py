"""Results that are too dear to compute on every build of the book, stored with how they came about."""

import json
import sysconfig
from pathlib import Path
from typing import Any

FOLDERS = (
    Path(__file__).resolve().parents[1] / "recordings",  # in a checkout
    Path(sysconfig.get_path("data")) / "share" / "transformer_edu" / "recordings",  # installed
)


def load(name: str) -> dict[str, Any]:
    """The recording of this name: {name, command, commit, machine, date, data}.

    Raises:
        ValueError: no recording has that name; the message lists those that exist.
    """
    known = {path.stem: path for folder in reversed(FOLDERS) for path in sorted(folder.glob("*.json"))}
    if name not in known:
        raise ValueError(f"name must be one of {', '.join(map(repr, sorted(known)))}, got {name!r}")
    return json.loads(known[name].read_text(encoding="utf-8"))
