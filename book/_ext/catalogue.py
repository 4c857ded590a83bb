"""Sphinx extension: the page of all known mistakes, written from the checks' own catalogue."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from transformer_edu import checks

PAGE = "book/mistakes"
PLACE = "<!-- catalogue -->"  # what stands in the page's source where the catalogue goes
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def plain(text: str) -> str:
    """Text that Markdown shows as it is; code between backticks stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else re.sub(r"([\\*_<>\[\]{}$#|~^&])", r"\\\1", part) for i, part in enumerate(parts))


def entries() -> Iterator[str]:
    """A section for each piece: its chapter, and for each mistake what it is, how it shows, why, and a hint."""
    for name in checks.component_names():
        chapter = checks.chapter_of(name)
        file = next(NOTEBOOKS.glob(f"{chapter:02}-*.ipynb")).stem
        mistakes = checks.catalogue(name)
        yield f"## {name[0].upper()}{name[1:]}\n"
        yield f"{len(mistakes)} mistakes. The piece is built in [chapter {chapter}](../notebooks/{file}.ipynb).\n"
        for one in mistakes:
            told = {"Symptom": f"{one.symptom}.", "Why": one.why, "Hint": one.hint}
            yield f"{plain(one.name)}\n: " + "\n  ".join(f"*{word}:* {plain(text)}" for word, text in told.items())
            yield ""


def write(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the catalogue into its page."""
    if docname == PAGE:
        if PLACE not in source[0]:
            raise ValueError(f"{PAGE}.md must hold the line {PLACE!r}")
        source[0] = source[0].replace(PLACE, "\n".join(entries()))


def always(app: Sphinx, *_: Any) -> list[str]:
    """The page hangs on the package, not on its own file: it is read at every build."""
    return [PAGE]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register."""
    app.connect("source-read", write)
    app.connect("env-get-outdated", always)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
