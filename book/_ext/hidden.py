"""Sphinx extension: folded code lies under one bar that says what it does.

What a bar hides is read from the code itself and from what stands under it: "Code that defines `rows` and draws this
plot". Folded cells that follow each other without a word or an output in between lie under one bar.
"""

from typing import Any

from docutils import nodes
from folding import details, summary
from labels import kind_shown, what_it_does
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class OneBar(SphinxPostTransform):
    """Put the folded code of a page under bars, before MyST-NB does (priority 199)."""

    default_priority = 190

    def run(self, **kwargs: Any) -> None:
        """Look through the cells of this page."""
        for parent in {cell.parent: None for cell in self.document.findall(is_folded)}:
            run: list[nodes.container] = []
            for child in list(parent.children):
                if is_folded(child):
                    run.append(child)
                if run and (child is not run[-1] or (shown_by(child) and child["hide_mode"] == "input")):
                    put_under_bar(run)
                    run = []
            if run:
                put_under_bar(run)


def is_folded(cell: nodes.Node) -> bool:
    """Tell whether the code of a cell is to be folded."""
    return isinstance(cell, nodes.container) and cell.get("hide_mode") in ("input", "all")


def shown_by(cell: nodes.Element) -> str:
    """What stands under a cell, as labels.py names it."""
    there = [one for part in cell if part.get("nb_element") == "cell_code_output" for one in part.findall()]
    html = "".join(one.astext() for one in there if isinstance(one, nodes.raw))
    picture, text = (any(isinstance(one, kind) for one in there) for kind in (nodes.image, nodes.literal_block))
    return kind_shown(html, picture, text)


def put_under_bar(run: list[nodes.container]) -> None:
    """Put the code of cells that follow each other under one bar, in the last of them."""
    *before, last = run
    source, *rest = last.children
    hidden = [part for cell in before for part in cell] + [source]
    code = [part for part in hidden if part.get("nb_element") == "cell_code_source"]
    text = "\n".join(block.astext() for part in code for block in part.findall(nodes.literal_block))
    own = last["prompt_show"]  # from the metadata of the cell; else MyST-NB's, for all cells
    label = what_it_does(text, shown_by(last), "tag_covered" in last["classes"]) if "{type}" in own else own
    box, bar = details(classes=["te-code"], open=False), summary()
    bar += nodes.inline("", "", *words(label))
    last.children = []
    box += [bar, *hidden]
    box += rest if last["hide_mode"] == "all" else []
    last += [box] if last["hide_mode"] == "all" else [box, *rest]
    for cell in before:
        cell.parent.remove(cell)
    del last["hide_mode"]  # so that it is not folded again


def words(label: str) -> list[nodes.Node]:
    """A label with its names as code."""
    parts = label.split("`")
    return [nodes.literal("", part) if i % 2 else nodes.Text(part) for i, part in enumerate(parts)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(OneBar)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
