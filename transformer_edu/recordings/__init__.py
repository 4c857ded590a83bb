"""Recorded results: what was too dear to compute on every build of the book, each with how it came about.

In a checkout they are the files of recordings/; an installed package carries them in this folder.

>>> recording = load("running-sentence")
>>> recording["command"], recording["data"]["translation"]
('python tools/make_recordings.py --only running-sentence', 'le petit chat noir ne dort pas')
"""

import json
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_FOLDERS = (_HERE, _HERE.parents[1] / "recordings")  # installed; in a checkout


def names() -> list[str]:
    """Names of all recordings."""
    return sorted({path.stem for folder in _FOLDERS for path in folder.glob("*.json")})


def load(name: str) -> dict[str, Any]:
    """The recording of this name: a dict with name, command, commit, machine, date, and the results under data.

    Raises:
        ValueError: no recording has that name.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, the name of a recording, got {name!r} of type {type(name).__name__}")
    if name not in names():
        raise ValueError(f"name must be one of {', '.join(map(repr, names()))}, got {name!r}")
    path = next(path for path in (folder / f"{name}.json" for folder in _FOLDERS) if path.exists())
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored
