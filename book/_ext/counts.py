"""Sphinx extension: what pages say of the whole book is counted when it is built: `{{ mistakes }}`, and the like."""

import re
from pathlib import Path
from typing import Any

import catalogue
import nbformat
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
BORDER = re.compile(r"^:::+\{(exercise-start|solution-end)\}", re.M)
TELLS = re.compile(r"\bcheck(?:s\.\w+|_\w+)\(|\"✓\"")  # calls a check, or tells by itself


def counted() -> dict[str, int]:
    """Each name with its number."""
    notebooks = [nbformat.read(path, as_version=4) for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))]
    printing = [cell for notebook in notebooks for cell in notebook.cells if cell.get("outputs")]
    exercises = [told for notebook in notebooks for told in exercises_told(notebook)]
    return {
        "chapters": len(notebooks),
        "mistakes": sum(len(mistakes) for *_, mistakes in catalogue.sections()),
        "cells": len(printing),
        "uncompared": sum("nbval-ignore-output" in cell.metadata.get("tags", []) for cell in printing),
        "exercises": len(exercises),
        "told": sum(exercises),
    }


def exercises_told(notebook: NotebookNode) -> list[bool]:
    """For each exercise of a chapter: does a cell of it, or of its solution, say whether an answer is right?"""
    told: list[bool] = []
    inside = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for border in BORDER.findall(cell.source):
                inside = border == "exercise-start"
                if inside:
                    told.append(False)
        elif inside and TELLS.search(cell.source):
            told[-1] = True
    return told


def substitute(app: Sphinx, config: Config) -> None:
    """Hand the numbers to MyST."""
    config.myst_substitutions = {**config.myst_substitutions, **counted()}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register."""
    app.connect("config-inited", substitute)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
