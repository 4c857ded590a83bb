"""Sphinx extension: the page of all known mistakes, written from the checks' and the judge's own catalogue."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from written import write_page

from transformer_edu import checks
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.verdict import EXPLAINED, beyond

PAGE = "book/mistakes"
BESIDE = (
    "Numbers may be right all the same: it shows in gradients, weights, modes, on other devices or in a second call."
)
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


@cache
def sections() -> list[tuple[str, str, list[Mistake]]]:
    """For each piece its title, where it is built or how it is judged, and the mistakes that stand nowhere before."""
    found: list[tuple[str, str, list[Mistake]]] = []
    for name in checks.component_names():
        chapter = checks.chapter_of(name)
        files = list(NOTEBOOKS.glob(f"{chapter:02}-*.ipynb"))  # none where a part of the book is built
        place = f"[chapter {chapter}](../notebooks/{files[0].name})" if files else f"chapter {chapter}"
        where = f"The piece is built in {place}."
        found.append((name, where, checks.catalogue(name)))
    told = {one.name for *_, mistakes in found for one in mistakes}
    whole = [(name, f"The judge's kind is `{name}`.", kind.mistakes) for name, kind in KINDS.items()]
    anywhere = ("in any part", BESIDE, [replace(beyond(name), symptom="") for name in EXPLAINED])
    for name, where, mistakes in [*whole, anywhere]:
        new = [one for one in mistakes if one.name not in told]
        told |= {one.name for one in new}
        if new:
            found.append((f"{name.replace('_', ' ')}, judged as a whole" if name in KINDS else name, where, new))
    return found


def entries() -> Iterator[str]:
    """A section for each piece: for each mistake what it is, how it shows, why, and a hint."""
    for title, where, mistakes in sections():
        yield f"## {title[0].upper()}{title[1:]}\n"
        yield f"{len(mistakes)} mistake{'s' * (len(mistakes) > 1)}. {where}\n"
        for one in mistakes:
            told = {"Symptom": one.symptom and f"{one.symptom}.", "Why": one.why, "Hint": one.hint}
            yield f"{plain(one.name)}\n: " + "\n  ".join(
                f"*{word}:* {plain(text)}" for word, text in told.items() if text
            )
            yield ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register."""
    write_page(app, PAGE, PLACE, lambda: "\n".join(entries()))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
