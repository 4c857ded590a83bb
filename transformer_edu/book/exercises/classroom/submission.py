"""A handed-in notebook: its code cells, whatever else has become of it."""

import json
from pathlib import Path

LARGEST = 20 << 20  # bytes; pictures in outputs included


def content(path: Path) -> bytes:
    """What a file holds that was handed in.

    Raises:
        ValueError: it is no file, too large, or cannot be opened; says why in one sentence.
    """
    try:
        if path.is_symlink() or not path.is_file():
            raise ValueError("it is a link or a folder, not a file")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST >> 20} MB: hand it in without large outputs")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be opened ({error.strerror})") from None


def code_cells(path: Path) -> list[str]:
    """The text of the code cells of a notebook, in their order. Metadata and outputs are not looked at.

    Raises:
        ValueError: this is no notebook; says why in one sentence.
    """
    written = content(path)
    try:
        cells = json.loads(written.decode("utf-8-sig"))["cells"]
        found = [_text(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("it cannot be read as a Jupyter notebook (.ipynb)") from None
    return [text for text in found if text.strip()]


def _text(source: str | list[str]) -> str:
    """A cell's text; an editor on Windows may have ended its lines in another way."""
    text = source if isinstance(source, str) else "".join(source)
    return text.replace("\r\n", "\n").replace("\r", "\n")
