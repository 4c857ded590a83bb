"""Sphinx extension: what goes beyond the main line folds, answers are covered, exercises carry their chapter's number.

- A section headed *Going deeper* becomes a box that opens; its heading is what one clicks. So does what has the class
  `dropdown`, a hint or a solution, without a script of its own.
- The output of a cell tagged `covered`, the answer to a Predict box, and the paragraph that explains it stand in a box
  that is open in the file and that the page's script closes, so that nobody without JavaScript misses it.
- A Predict box that asks for such an answer ends in a line for a guess. It is in the file, so that nothing moves when
  the page's script brings it to life; without scripts it is not shown.
- `:::{exercise-start} 6.1 Title` with `:nonumber:` is headed "Exercise 6.1 Title", without brackets.
"""

from typing import Any

from captions import is_caption
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import exercise_node, solution_node

DEEPER = "Going deeper"
COVER = "Your guess first. Then open."
PREDICT = "Predict"
TYPED = '<label>Your guess</label><input type="text" maxlength="200" autocomplete="off">'
ANSWER = '<button type="submit">Show the answer</button><small>Your guess stays in this browser.</small>'


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
        for node in list(self.document.findall(nodes.Admonition)):
            if "dropdown" in node["classes"]:
                node.replace_self(self.opening(node))
        self.ask()
        for cell in list(self.document.findall(nodes.container)):
            if "tag_covered" in cell["classes"]:
                for output in [one for one in cell.children if "cell_output" in one.get("classes", [])]:
                    place = cell.index(output)
                    cell.remove(output)
                    answer = [output, *self.explanation(cell)]
                    cell.insert(place, self.box("te-covered", nodes.inline("", COVER), answer, open=True))

    def ask(self) -> None:
        """Give the last Predict box before each covered answer its line for a guess, in a list its button alone."""
        question: nodes.Element | None = None
        for node in list(self.document.findall(nodes.Element)):
            title = node[0] if isinstance(node, nodes.Admonition) and node.children else None
            if isinstance(title, nodes.title) and title.astext().startswith(PREDICT):
                question = node
            elif "tag_covered" in node.get("classes", []) and question is not None:
                question += nodes.raw("", guess_form(chosen=any(map(is_list, question))), format="html")
                question = None

    def opening(self, node: nodes.Element) -> details:
        """A box with a title as a box that opens."""
        title, *rest = node.children
        for link in list(title.findall(nodes.reference)):  # what one clicks to open the box leads nowhere
            link.replace_self(link.children)
        box = self.box("te-hint", nodes.inline("", "", *title.children), rest)
        box["ids"] = node["ids"]
        return box

    def is_deeper(self, section: nodes.section) -> bool:
        """Tell whether a section is to be folded, by its heading."""
        title = section[0] if section.children else None
        return isinstance(title, nodes.title) and title.astext().startswith(DEEPER)

    def explanation(self, cell: nodes.Node) -> list[nodes.Node]:
        """What stands behind a cell and would give its answer away, taken out of the page.

        That is the caption, if there is one, and the first paragraph that follows.
        """
        behind = cell.parent.children[cell.parent.index(cell) + 1 :][:2]
        taken: list[nodes.Node] = []
        for node in behind:
            if not isinstance(node, nodes.paragraph):
                break
            taken.append(node)
            if not is_caption(node):
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


def is_list(node: nodes.Node) -> bool:
    """Tell whether the answers to choose from stand here."""
    return isinstance(node, nodes.bullet_list)


def guess_form(chosen: bool) -> str:
    """The line for a guess, as _static/predict.js finds it; where a list is to choose from, without a field."""
    return f'<form class="te-predict">{"" if chosen else TYPED}{ANSWER}</form>'


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
