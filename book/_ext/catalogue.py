"""Sphinx extension: the page of all known mistakes, written from the checks' own catalogue."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from written import write_page

from transformer_edu import checks

PAGE = "book/mistakes"
PLACE = "<!-- catalogue -->"  # what stands in the page's source where the catalogue goes
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


KEPT = re.compile(r"(`[^`]*`|(?<![\w*])\*\w(?:[\w '-]*\w)?\*(?![\w*]))")


def plain(text: str) -> str:
    r"""Text that Markdown shows as it is; code between backticks stays code, and words between asterisks in italics.

    >>> plain("the *variance* of `a * b`, not a*b, a_1")
    'the *variance* of `a * b`, not a\\*b, a\\_1'
    """
    parts = KEPT.split(text)
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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register."""
    write_page(app, PAGE, PLACE, lambda: "\n".join(entries()))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
