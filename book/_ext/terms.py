"""Sphinx extension: in each chapter the first use of a word of the glossary leads there.

Plain prose only: headings, code, formulas, links and captions stay as they are.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

TITLES = ("Attention Is All You Need",)
GLOSSARY = "book/glossary"
BLOCK = re.compile(r"^```\{glossary\}\n(.*?)^```", re.M | re.S)
CLOSED = (
    *(nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw),
    *(nodes.caption, nodes.comment, nodes.citation, nodes.rubric, nodes.table, addnodes.pending_xref),
)


@cache
def entries(text: str) -> tuple[tuple[str, ...], ...]:
    """The words of each entry of a glossary, given its page's text.

    >>> entries("```{glossary}\\nlogits\\nlogit\\n  Scores.\\n```\\n")
    (('logits', 'logit'),)
    """
    block = BLOCK.search(text)
    if block is None:
        raise ValueError(f"{GLOSSARY}.md must hold a glossary directive")
    found: list[tuple[str, ...]] = []
    words: list[str] = []
    for line in block[1].splitlines():
        if line and not line.startswith(" "):
            words.append(line)
        elif words:
            found.append(tuple(words))
            words = []
    return tuple(found)


def pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """What finds any of an entry's words, also in the plural and in other case."""
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?:s|es)?(?![\w-])", re.I)


class LinkTerms(SphinxTransform):
    """Link the first use of each entry's words."""

    default_priority = 750

    def apply(self, **kwargs: Any) -> None:
        """Look through a chapter's prose, from top to bottom."""
        if not self.env.docname.startswith("notebooks/") or GLOSSARY not in self.env.found_docs:
            return
        source = Path(self.env.doc2path(GLOSSARY))
        self.env.note_dependency(str(source))
        waiting = {words: pattern(words) for words in entries(source.read_text(encoding="utf-8"))}
        for text in [one for one in self.document.findall(nodes.Text) if is_prose(one)]:
            left: nodes.Text | None = text
            while left is not None and (first := self.first_use(left.astext(), waiting)):
                words, found = first
                del waiting[words]
                left = self.link(left, found)

    def first_use(self, text: str, waiting: dict[tuple[str, ...], re.Pattern[str]]) -> Any:
        """The entry whose word comes first, the longest where several begin at one place; or None."""
        found = [
            (match.start(), -match.end(), words, match) for words, one in waiting.items() if (match := one.search(text))
        ]
        return min(found, key=lambda one: one[:2])[2:] if found else None

    def link(self, text: nodes.Text, found: re.Match[str]) -> nodes.Text | None:
        """Put a link where the word stands; return what is left of the text behind it."""
        whole = text.astext()
        target = found[1].lower()
        link = addnodes.pending_xref(
            "",
            nodes.inline("", found[0], classes=["book-term"]),
            refdomain="std",
            reftype="term",
            reftarget=target,
            refdoc=self.env.docname,
            refexplicit=True,
            refwarn=True,
        )
        link.source, link.line = text.parent.source, text.parent.line
        rest = nodes.Text(whole[found.end() :])
        text.parent.replace(text, [nodes.Text(whole[: found.start()]), link, rest])
        return rest


def is_prose(text: nodes.Node) -> bool:
    """Whether a text stands in a paragraph or a list, and in nothing that is to stay as it is."""
    node, in_paragraph = text.parent, False
    while node is not None:
        if isinstance(node, CLOSED) or (isinstance(node, nodes.emphasis) and node.astext() in TITLES):
            return False
        in_paragraph |= isinstance(node, nodes.paragraph)
        node = node.parent
    return in_paragraph


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(LinkTerms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
