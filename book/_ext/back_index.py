"""Sphinx extension: the index at the back, from the chapters as they have been read.

    ```{back-index} words
    ```

stands for each word of the glossary and the sections that speak of it most, `figures` and `equations` for lists of what
`numbering.py` has numbered.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from folding import DEEPER
from numbering import chapter_of, numbered_in
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode
from sphinx_exercise.nodes import exercise_node, solution_node
from terms import GLOSSARY, entries, pattern

PAGE = "book/book-index"
MOST_CHAPTERS = 5  # that a word's line names, besides the one that the glossary names
LEAST_USES = 3  # of a word in a section, to be named for it
IN_BOLD = 4  # uses that the word where it is introduced is worth
IN_HEADING = 6
NOT_SPOKEN = (nodes.literal, nodes.math)
NOT_OF_THE_SECTION = (nodes.section, exercise_node, solution_node)
MAIN = re.compile(r"\[Chapter (\d+)\]")


class back_index(nodes.General, nodes.Element):  # noqa: N801 (docutils writes its nodes so)
    """Where a list goes."""


class BackIndex(SphinxDirective):
    """The place of one of the three lists."""

    required_arguments = 1
    KINDS: ClassVar = ("words", "figures", "equations")

    def run(self) -> list[nodes.Node]:
        """Leave a place, which is filled when every page has been read."""
        if self.arguments[0] not in self.KINDS:
            raise self.error(f"back-index: {self.arguments[0]!r} must be one of {', '.join(self.KINDS)}")
        return [back_index(kind=self.arguments[0])]


class Fill(SphinxPostTransform):
    """Fill the places."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Look for places on this page."""
        for place in list(self.document.findall(back_index)):
            rows = self.words() if place["kind"] == "words" else self.numbered(place["kind"].removesuffix("s"))
            items = [nodes.list_item("", row) for row in rows]
            place.replace_self(nodes.bullet_list("", *items, classes=["book-index"]))

    def chapters(self) -> list[str]:
        """The pages of the chapters, in order."""
        return sorted(page for page in self.env.found_docs if chapter_of(page) is not None)

    def link(self, page: str, anchor: str, *words: nodes.Node) -> nodes.reference:
        """A link to a place on a page."""
        return make_refnode(self.app.builder, self.env.docname, page, anchor, nodes.inline("", "", *words))

    def numbered(self, kind: str) -> Iterator[nodes.paragraph]:
        """All figures, or all equations."""
        for page in self.chapters():
            for one in numbered_in(self.env, page):
                if one.kind == kind:
                    name = f", {one.name.replace('-', ' ')}" if one.name else ""
                    link = self.link(page, one.anchor, nodes.Text(one.number))
                    yield nodes.paragraph("", "", link, nodes.Text(f" {one.heading}{name}"))

    def words(self) -> Iterator[nodes.paragraph]:
        """A line for each entry of the glossary, and one for each of its other words that leads to it."""
        text = Path(self.env.doc2path(GLOSSARY)).read_text(encoding="utf-8")
        self.env.note_dependency(GLOSSARY)
        main = dict(zip(entries(text), map(int, MAIN.findall(text)), strict=True))
        uses = self.uses(main)
        lines = {words[0]: self.line(words, uses[words], main[words]) for words in main}
        lines |= {other: self.see(other, words[0]) for words in main for other in words[1:]}
        yield from (lines[word] for word in sorted(lines, key=str.lower))

    def uses(self, main: dict[tuple[str, ...], int]) -> dict[tuple[str, ...], list[tuple[float, str, nodes.section]]]:
        """For each entry, and each chapter, how much the section that speaks of it most does, and which one that is."""
        found: dict[tuple[str, ...], list[tuple[float, str, nodes.section]]] = {words: [] for words in main}
        for page in self.chapters():
            sections = [Spoken(one) for one in self.env.get_doctree(page).findall(nodes.section) if is_told(one)]
            for words in main:
                wanted = pattern(words)
                uses, best = max(((one.uses(wanted), one) for one in sections), key=lambda one: one[0])
                if uses >= LEAST_USES or chapter_of(page) == main[words]:
                    found[words].append((uses, page, best.section))
        return found

    def line(self, words: tuple[str, ...], uses: list[Any], main: int) -> nodes.paragraph:
        """A word, its entry in the glossary, and where it is spoken of; the chapter that shows it in bold."""
        often = sorted(uses, key=lambda one: (chapter_of(one[1]) != main, -one[0]))[: 1 + MOST_CHAPTERS]
        line = nodes.paragraph("", "", self.term(words[0]))
        for i, (_, page, section) in enumerate(sorted(often, key=lambda one: one[1])):
            chapter = str(chapter_of(page))
            number = nodes.strong("", chapter) if chapter == str(main) else nodes.Text(chapter)
            title = [child.deepcopy() for child in section[0].children]
            link = self.link(page, section["ids"][0], number, nodes.Text(" "), *title)
            line += [nodes.Text(" · " if i else ": "), link]
        return line

    def see(self, other: str, word: str) -> nodes.paragraph:
        """A line that leads from another word to the entry."""
        return nodes.paragraph("", "", nodes.Text(f"{other}: see "), self.term(word))

    def term(self, word: str) -> nodes.reference:
        """A link to a word of the glossary."""
        page, anchor = self.env.get_domain("std").objects["term", word]  # type: ignore[attr-defined]
        return self.link(page, anchor, nodes.Text(word))


class Spoken:
    """What a section says itself, without the sections in it, and without code and formulas."""

    def __init__(self, section: nodes.section) -> None:
        self.section = section
        self.title = section[0].astext()
        said: list[str] = []
        stressed: list[str] = []
        waiting = list(section.children)
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, nodes.paragraph):
                said += [one.astext() for one in node.findall(nodes.Text) if not isinstance(one.parent, NOT_SPOKEN)]
                stressed += [one.astext() for one in node.findall(nodes.strong)]
            elif not isinstance(node, (*NOT_OF_THE_SECTION, nodes.container)):
                waiting = [*node.children, *waiting]
        self.said, self.stressed = " ".join(said), " | ".join(stressed)

    def uses(self, wanted: re.Pattern[str]) -> float:
        """How much a section speaks of something: what its heading names, and what it introduces, counts more."""
        heard = len(wanted.findall(self.said))
        heard += IN_BOLD * bool(wanted.search(self.stressed)) + IN_HEADING * bool(wanted.search(self.title))
        return heard / 2 if DEEPER in self.title else heard


def is_told(section: nodes.section) -> bool:
    """Whether a section belongs to the text, and not to an exercise."""
    titled = bool(section.children) and isinstance(section[0], nodes.title)
    return titled and not any(isinstance(one, exercise_node | solution_node) for one in ancestors(section))


def ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    """What a node stands in, from inside to outside."""
    while node.parent is not None:
        node = node.parent
        yield node


def always(app: Sphinx, *_: Any) -> list[str]:
    """The index hangs on every chapter."""
    return [PAGE]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and what fills its places."""
    app.add_node(back_index)
    app.add_directive("back-index", BackIndex)
    app.add_post_transform(Fill)
    app.connect("env-get-outdated", always)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
