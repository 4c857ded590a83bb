"""The dark twins of the chapters' pictures: book/dark/ holds one for each, named after the light one.

A chapter runs with `transformer_edu.book.plots.dark`, which shows every figure on a dark ground too. That picture is
not stored in the chapter, where nobody would see it: `write_twins` keeps it here, for the book's dark theme.
"""

import base64
import hashlib
import io
from pathlib import Path

import nbformat
from agreement import same_picture
from nbformat import NotebookNode
from PIL import Image

from transformer_edu.book.plots.dark import DARK_PNG
from transformer_edu.support.files import write_atomically

FOLDER = Path("book", "dark")  # in the project's folder


def outputs_of(notebook: NotebookNode) -> list[NotebookNode]:
    """Every output of a chapter."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def take_twins(notebook: NotebookNode) -> list[tuple[NotebookNode, str]]:
    """Take the dark pictures out of a chapter that has just run; each with the output that it belongs to."""
    outputs = [output for output in outputs_of(notebook) if DARK_PNG in output.get("data", {})]
    return [(output, output.data.pop(DARK_PNG)) for output in outputs]


def write_twins(twins: list[tuple[NotebookNode, str]], root: Path) -> None:
    """Write the dark pictures that show something else than what is there."""
    for output, dark in twins:
        path = root / FOLDER / twin_name(output)
        if not (path.exists() and same_picture(as_png(path), dark)):
            file = io.BytesIO()
            with Image.open(io.BytesIO(base64.b64decode(dark))) as picture:
                picture.convert("RGB").save(file, "WEBP", lossless=True, quality=80)
            write_atomically(path, file.getvalue())


def twin_name(output: NotebookNode) -> str:
    """The name of the dark twin of an output's picture."""
    return hashlib.sha256(base64.b64decode(output.data["image/png"])).hexdigest()[:16] + ".webp"


def as_png(path: Path) -> str:
    """A picture file as a base64 PNG."""
    file = io.BytesIO()
    with Image.open(path) as picture:
        picture.convert("RGBA").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def twins_wanted(folder: Path) -> set[str]:
    """The names of the twins of all pictures that the chapters in a folder hold."""
    chapters = [nbformat.read(path, as_version=4) for path in sorted(folder.glob("[0-9]*.ipynb"))]
    outputs = [output for chapter in chapters for output in outputs_of(chapter)]
    return {twin_name(output) for output in outputs if "image/png" in output.get("data", {})}


def remove_orphans(root: Path) -> None:
    """Remove the twins of pictures that no chapter has any more."""
    wanted = twins_wanted(root / "notebooks")
    for path in (root / FOLDER).glob("*.webp"):
        if path.name not in wanted:
            path.unlink()
