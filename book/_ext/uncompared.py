"""Sphinx extension: under a cell whose output the tests do not compare, a line says so, and what guards it instead."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

TRAINED = "These digits differ from one processor to the next. The cell's assertions are tested, the digits are not."
TIMED = "Times are those of one machine. The cell's assertions are tested, the times are not."


class SayWhatGuards(SphinxTransform):
    """Put the line behind the cell's output; a cell tagged `times` prints times."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        """Look through the cells of this page."""
        for cell in list(self.document.findall(nodes.container)):
            has_output = any("cell_output" in part["classes"] for part in cell.findall(nodes.container))
            if has_output and "tag_nbval-ignore-output" in cell["classes"]:
                words = TIMED if "tag_times" in cell["classes"] else TRAINED
                cell += nodes.paragraph("", words, classes=["te-uncompared"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(SayWhatGuards)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
