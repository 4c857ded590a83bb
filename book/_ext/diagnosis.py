"""Sphinx extension: what a check says is never cut off, however narrow the page; nor is a wide output at a desk.

Printed text scrolls sideways on a phone, since a table that wraps cannot be read. A diagnosis is prose: each of its
lines wraps in the page, under its own beginning, and what the check has wrapped already is one line again. An output
with a line of more than 72 columns wraps that line in the same way.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

SAID = re.compile(r"^(?:✗ [^\n]*: check \d|Diagnosis: )", re.M)
LABEL = re.compile(r"✗ |(?:Diagnosis|Why|Symptom|Hint): +")
WIDTH, FURTHER = 72, 4  # as CheckFailed wraps: to so many columns, and a value that goes on stands so much further in


def lines_of(text: str) -> list[tuple[str, int]]:
    """The lines of a diagnosis as they were before the check wrapped them, and where each goes on if it wraps again.

    >>> lines_of("\\n".join(["Why:  one", "and so on", "    [1 2]"]))
    [('Why:  one', 6), ('and so on', 0), ('    [1 2]', 8)]
    """
    found: list[tuple[str, int]] = []
    before = ""
    for line in text.rstrip("\n").split("\n"):
        words = line.split()
        if words and before and indent_of(line) == found[-1][1] and len(before) + 1 + len(words[0]) > WIDTH:
            found[-1] = (f"{found[-1][0]} {line.strip()}", found[-1][1])
        else:
            label, indent = LABEL.match(line), indent_of(line)
            found.append((line, label.end() if label else indent and indent + FURTHER))
        before = line
    return found


def indent_of(line: str) -> int:
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip(" "))


def wide_lines_of(text: str) -> list[tuple[str, int]]:
    """The lines of an output as they are, and where each goes on if it wraps."""
    return [(line, indent_of(line) + FURTHER) for line in text.rstrip("\n").split("\n")]


def in_html(found: list[tuple[str, int]], classes: list[str]) -> str:
    """Lines as the page shows them: a block for each, with its newline in it, so that copies are the same."""
    lines = "".join(f'<span style="--te-hang:{hang}ch">{escape(line, quote=False)}\n</span>' for line, hang in found)
    names = escape(" ".join([*classes, "highlight-text", "notranslate"]))
    return f'<div class="{names}"><div class="highlight"><pre class="te-diagnosis">{lines}</pre></div></div>'


class WrapDiagnoses(SphinxPostTransform):
    """Let each diagnosis of a page wrap."""

    default_priority = 150
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Look through the blocks of printed text."""
        for block in list(self.document.findall(nodes.literal_block)):
            text = block.astext()
            said, wide = SAID.search(text), max(map(len, text.split("\n"))) > WIDTH
            if said or (wide and is_output(block)):
                found = lines_of(text) if said else wide_lines_of(text)
                block.parent.replace(block, nodes.raw("", in_html(found, block["classes"]), format="html"))


def is_output(block: nodes.Node) -> bool:
    """Tell whether a cell has printed this."""
    place = block.parent
    while place is not None and not isinstance(place, nodes.document):
        if "cell_output" in place.get("classes", []):
            return True
        place = place.parent
    return False


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(WrapDiagnoses)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
