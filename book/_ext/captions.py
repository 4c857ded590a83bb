"""What stands under a figure: its number and its caption, as one.

In a notebook a caption is what the paragraph right under a figure begins with, in italics; single words in it that are
to stand out are upright. On the page it begins with the figure's number, and the words that stand out are in italics.
"""

import re

from docutils import nodes

CAPTION = "book-caption"
NUMBER = "book-number"
ENDS = re.compile(r"[.!?]\W*$")


def put_caption(cell: nodes.Element, output: nodes.Element, link: nodes.reference) -> None:
    """Put a figure's number before its caption; where there is none, alone under the figure.

    Args:
        cell: the cell that shows the figure.
        output: the part of it in which the figure stands.
        link: the number.
    """
    link["classes"].append(NUMBER)
    behind = cell.parent[cell.parent.index(cell) + 1 :][:1]
    if not (behind and begins_in_italics(behind[0])):
        output += nodes.paragraph("", "", link, classes=[CAPTION])
        return
    paragraph = behind[0]
    words, rest = split(paragraph.children)
    paragraph["classes"].append(CAPTION)
    paragraph.children = []
    paragraph += [link, nodes.Text(" "), *(part for one in words for part in turned(one))]
    if rest:
        paragraph.parent.insert(paragraph.parent.index(paragraph) + 1, nodes.paragraph("", "", *rest))


def begins_in_italics(node: nodes.Node) -> bool:
    """Tell whether a node is a paragraph that begins with a caption: in italics, and with a capital letter."""
    first = node.children[0] if isinstance(node, nodes.paragraph) and node.children else None
    return isinstance(first, nodes.emphasis) and first.astext()[:1].isupper()


def is_caption(node: nodes.Node) -> bool:
    """Tell whether a node is a caption: it has been made one, or stands as one under what is no figure."""
    alone = isinstance(node, nodes.paragraph) and [type(child) for child in node.children] == [nodes.emphasis]
    return alone or CAPTION in getattr(node, "attributes", {}).get("classes", [])


def split(parts: list[nodes.Node]) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """A paragraph's caption, to the first words in italics that end a sentence, and the prose that goes on behind."""
    for place, part in enumerate(parts):
        if isinstance(part, nodes.emphasis) and ENDS.search(part.astext()):
            rest = parts[place + 1 :]
            if rest and isinstance(rest[0], nodes.Text):
                rest[0] = nodes.Text(rest[0].astext().lstrip())
            return parts[: place + 1], rest
    return parts, []


def turned(part: nodes.Node) -> list[nodes.Node]:
    """A part of a caption, upright if it was in italics, and the other way round."""
    if isinstance(part, nodes.emphasis):
        return list(part.children)
    text = part.astext()
    word = text.strip(" \n.,;:")
    if not (isinstance(part, nodes.Text) and word):
        return [part]
    before, after = text.split(word, 1)
    return [nodes.Text(before), nodes.emphasis("", word), nodes.Text(after)]
