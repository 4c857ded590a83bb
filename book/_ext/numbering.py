r"""Sphinx extension: figures and equations bear the number of their chapter, and what names one leads to it.

- An equation on a line of its own ends in `\tag{6.3}`, which Jupyter, Colab and GitHub print beside it, and so does the
  book. Numbers run through the chapter without a gap: another one is a warning, and so is an equation without one.
- Figures are counted when the book is built, a plot like a figure that moves; the number stands under it, before
  its caption (captions.py).
- "equation 6.3" or "figure 6.2" in prose is a link. So is `[the softmax lab](06-attention.ipynb#softmax-lab)`, by the
  figure's own name; in the book its number is added, and in a notebook the sentence reads as it stands.
"""

import re
from typing import Any, NamedTuple

from captions import put_caption
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from terms import is_prose

logger = logging.getLogger(__name__)
CHAPTER = re.compile(r"notebooks/(\d+)-")
TAG = re.compile(r"\s*\\tag\{([\d.]+)\}\s*$")
NAMED = re.compile(r"(?<![\w-])(equation|figure)[ \N{NO-BREAK SPACE}](\d+)\.(\d+)(?![\d.]*\d)", re.I)
WIDGET = re.compile(r'<div class="te-figure" data-widget="([\w-]+)"')
FIGURE = re.compile(r'<div class="te-(?:figure|bertviz)"')
PICTURE = "image/png"


class Numbered(NamedTuple):
    """A figure or an equation of a chapter."""

    kind: str  # figure or equation
    number: str  # 6.3
    anchor: str
    name: str  # of the figure itself, where it has one: another anchor
    heading: str  # of the section in which it stands


def chapter_of(docname: str) -> int | None:
    """The number of a chapter, None for another page.

    >>> chapter_of("notebooks/06-attention"), chapter_of("book/intro")
    (6, None)
    """
    found = CHAPTER.match(docname)
    return int(found[1]) if found else None


def numbered_in(env: BuildEnvironment, docname: str) -> list[Numbered]:
    """The figures and equations of a page that has been read."""
    kept: list[Numbered] = env.metadata[docname].get("numbered", [])
    return kept


class Number(SphinxTransform):
    """Number the figures and equations of a chapter."""

    default_priority = 730

    def apply(self, **kwargs: Any) -> None:
        """Go through a chapter from top to bottom."""
        chapter = chapter_of(self.env.docname)
        if chapter is None:
            return
        found: list[Numbered] = []
        for equation in self.document.findall(nodes.math_block):
            found.append(self.equation(equation, f"{chapter}.{len(found) + 1}"))
        pictures = 0
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") == "cell_code" and shows_picture(cell):
                pictures += 1
                found.append(self.figure(cell, f"{chapter}.{pictures}"))
        self.env.metadata[self.env.docname]["numbered"] = found

    def equation(self, node: nodes.math_block, number: str) -> Numbered:
        """Give an equation the number that its tag says."""
        latex = node.astext()
        tag = TAG.search(latex)
        if tag is None or tag[1] != number:
            logger.warning("this equation must end in \\tag{%s}", number, location=node)
        node.children = [nodes.Text(TAG.sub("", latex))]
        anchor = f"equation-{number.replace('.', '-')}"
        node["printed_number"] = number
        node["ids"].append(anchor)
        return Numbered("equation", number, anchor, "", heading_above(node))

    def figure(self, cell: nodes.container, number: str) -> Numbered:
        """Put a figure's number under it."""
        output = next(one for one in cell.children if "cell_output" in one["classes"])
        anchor = f"figure-{number.replace('.', '-')}"
        name = self.name_of(cell)
        output["ids"] += [anchor, name] if name else [anchor]
        put_caption(cell, output, nodes.reference("", f"Figure {number}", refid=anchor, internal=True))
        return Numbered("figure", number, anchor, name, heading_above(cell))

    def name_of(self, cell: nodes.container) -> str:
        """The name of the figure in a cell, empty where it leads to something else on the page already."""
        names = [name for raw in cell.findall(nodes.raw) for name in WIDGET.findall(raw.astext())]
        taken = {one for node in self.document.findall(nodes.Element) for one in node["ids"]}
        return next((name for name in names if name not in taken), "")


def shows_picture(cell: nodes.container) -> bool:
    """Whether a figure or a plot stands under a cell."""
    return any(
        one.get("mime_type") == PICTURE or (one.children and FIGURE.search(one[0].astext()))
        for output in cell.findall(nodes.container)
        if output.get("nb_element") == "mime_bundle"
        for one in output.findall(nodes.container)
    )


def heading_above(node: nodes.Element) -> str:
    """The heading of the section in which something stands."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.section) and node.children and isinstance(node[0], nodes.title):
            return node[0].astext()
    return ""


class LinkNumbers(SphinxTransform):
    """Make a link of each "equation 6.3" and "figure 6.2" in prose."""

    default_priority = 740

    def apply(self, **kwargs: Any) -> None:
        """Look through the prose of a page."""
        for text in [one for one in self.document.findall(nodes.Text) if is_prose(one) and NAMED.search(one)]:
            whole, new, read = text.astext(), [], 0
            for found in NAMED.finditer(whole):
                new += [nodes.Text(whole[read : found.start()]), self.link(text, found)]
                read = found.end()
            text.parent.replace(text, [*new, nodes.Text(whole[read:])])

    def link(self, text: nodes.Text, found: re.Match[str]) -> nodes.Node:
        """A link to an equation or a figure; the text itself, with a warning, where there is no such chapter."""
        kind, chapter, place = found.groups()
        page = next((one for one in sorted(self.env.found_docs) if chapter_of(one) == int(chapter)), None)
        if page is None:
            logger.warning("there is no chapter %s for %r", chapter, found[0], location=text.parent)
            return nodes.Text(found[0])
        link = addnodes.pending_xref(
            "",
            nodes.inline("", found[0].replace(" ", "\N{NO-BREAK SPACE}")),
            refdomain="doc",
            reftype="myst",
            reftarget=page,
            reftargetid=f"{kind.lower()}-{chapter}-{place}",
            refdoc=self.env.docname,
            refexplicit=True,
        )
        link.source, link.line = text.parent.source, text.parent.line
        return link


def tell_anchors(app: Sphinx, doctree: nodes.document) -> None:
    """Let links find the figures and equations of the page that was read, as they find its headings."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for one in numbered_in(app.env, app.env.docname):
        slugs |= {anchor: (None, anchor, anchor) for anchor in (one.anchor, one.name) if anchor}


def add_numbers(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Behind the words of a link that names a figure, put the figure's number."""
    numbers = {
        (page, anchor): one.number
        for page in app.env.found_docs
        for one in numbered_in(app.env, page)
        if one.kind == "figure"
        for anchor in (one.anchor, one.name)
    }
    for link in doctree.findall(nodes.reference):
        file, _, anchor = link.get("refuri", "").partition("#")
        page = f"notebooks/{file.rpartition('/')[2].removesuffix('.html')}" if file else docname
        number = numbers.get((page, anchor or link.get("refid")))
        if number and number not in link.astext():
            link += nodes.inline("", f" (figure\N{NO-BREAK SPACE}{number})")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transforms and the hooks."""
    app.add_transform(Number)
    app.add_transform(LinkNumbers)
    app.connect("doctree-read", tell_anchors)
    app.connect("doctree-resolved", add_numbers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
