"""Sphinx extension: what goes beyond the main line folds, answers are covered, exercises carry their chapter's number.

- A section headed *Going deeper* becomes a box that opens; its heading is what one clicks.
- The output of a cell tagged `covered`, the answer to a Predict box, and the paragraph that explains it stand in a box
  that is open in the file and that the page's script closes, so that nobody without JavaScript misses it.
- `:::{exercise-start} 6.1 Title` with `:nonumber:` is headed "Exercise 6.1 Title", without brackets.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import exercise_node, solution_node

DEEPER = "Going deeper"
COVER = "Your guess first. Then open."


class details(nodes.General, nodes.Element):  # noqa: N801 (docutils finds visit_details by the name of the class)
    """A box that opens and closes; `open` says how it begins."""


class summary(nodes.section):  # noqa: N801 (a section, since docutils writes headings only in those)
    """What stands on the box when it is closed."""


class Fold(SphinxPostTransform):
    """Fold sections and cover answers."""

    default_priority = 600

    def run(self, **kwargs: Any) -> None:
        """Look through the page."""
        for section in list(self.document.findall(nodes.section)):
            if type(section) is nodes.section and self.is_deeper(section):
                title, *rest = section.children
                section.children = []
                section += self.box("te-deeper", title, rest)
                section[0][0]["ids"], section["ids"] = section["ids"], []  # links lead to the heading
        for cell in list(self.document.findall(nodes.container)):
            if "tag_covered" in cell["classes"]:
                for output in [one for one in cell.children if "cell_output" in one.get("classes", [])]:
                    place = cell.index(output)
                    cell.remove(output)
                    answer = [output, *self.explanation(cell)]
                    cell.insert(place, self.box("te-covered", nodes.inline("", COVER), answer, open=True))

    def is_deeper(self, section: nodes.section) -> bool:
        """Tell whether a section is to be folded, by its heading."""
        title = section[0] if section.children else None
        return isinstance(title, nodes.title) and title.astext().startswith(DEEPER)

    def explanation(self, cell: nodes.Node) -> list[nodes.Node]:
        """What stands behind a cell and would give its answer away, taken out of the page.

        That is the caption, a paragraph in italics, if there is one, and the first paragraph that follows.
        """
        behind = cell.parent.children[cell.parent.index(cell) + 1 :][:2]
        taken: list[nodes.Node] = []
        for node in behind:
            if not isinstance(node, nodes.paragraph):
                break
            taken.append(node)
            if [type(child) for child in node.children] != [nodes.emphasis]:
                break
        for node in taken:
            cell.parent.remove(node)
        return taken

    def box(self, kind: str, label: nodes.Node, content: list[nodes.Node], open: bool = False) -> details:
        """A box of one kind with a label and what is in it."""
        box = details(classes=[kind], open=open)
        label_box = summary()
        label_box += label
        box += label_box
        box += content
        return box


class NameExercises(SphinxPostTransform):
    """Take the brackets off the exercises' titles, which sphinx-exercise has put there (priority 20 to 22)."""

    default_priority = 30

    def run(self, **kwargs: Any) -> None:
        """Look through the page."""
        for exercise in self.document.findall(lambda node: isinstance(node, exercise_node | solution_node)):
            for text in list(exercise[0].findall(nodes.Text)):
                if text.astext() in (" (", ")"):
                    text.parent.replace(text, nodes.Text(" " if text.astext() == " (" else ""))


def visit_details(self: HTML5Translator, node: details) -> None:
    """<details>"""
    self.body.append(self.starttag(node, "details", **({"open": "open"} if node["open"] else {})))


def depart_details(self: HTML5Translator, node: details) -> None:
    """</details>"""
    self.body.append("</details>\n")


def visit_summary(self: HTML5Translator, node: summary) -> None:
    """<summary>"""
    self.body.append(self.starttag(node, "summary", ""))


def depart_summary(self: HTML5Translator, node: summary) -> None:
    """</summary>"""
    self.body.append("</summary>\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the nodes and the transforms."""
    app.add_node(details, html=(visit_details, depart_details))
    app.add_node(summary, html=(visit_summary, depart_summary))
    app.add_post_transform(Fold)
    app.add_post_transform(NameExercises)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
