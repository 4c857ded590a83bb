"""Recorded results: what was too dear to compute on every build of the book, each with how it came about.

>>> recording = load("running-sentence")
>>> recording["command"], recording["data"]["translation"]
('python tools/make_recordings.py --only running-sentence', 'le petit chat noir ne dort pas')
"""

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of all recordings."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def load(name: str) -> dict[str, Any]:
    """The recording of this name: a dict with name, command, commit, machine, date, and the results under data.

    Raises:
        ValueError: no recording has that name.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, the name of a recording, got {name!r} of type {type(name).__name__}")
    if name not in names():
        raise ValueError(f"name must be one of {', '.join(map(repr, names()))}, got {name!r}")
    stored: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return stored
