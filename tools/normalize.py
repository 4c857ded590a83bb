"""Strip from a chapter what differs from run to run, so that running it again gives the same bytes.

Code that another package writes into an output is stripped as well: the script in a view of bertviz's. The book takes
it from the installed package when it is built.
"""

import base64
import re
import struct

from nbformat import NotebookNode

from transformer_edu.book.figures.bertviz_script import without_script

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
PROGRESS = re.compile(r"\d+%\||\d+(\.\d+)?\s?(it|s|B|ex|batch|step)\w*/(s|it)\b|\r")
KEPT_PNG_CHUNKS = {b"IHDR", b"PLTE", b"tRNS", b"pHYs", b"IDAT", b"IEND"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"}


def normalize(notebook: NotebookNode) -> None:
    """Change a freshly run notebook in place; raise ValueError if a cell left a warning on stderr."""
    notebook.metadata = NotebookNode(
        kernelspec={"display_name": "Python 3", "language": "python", "name": "python3"},
        language_info=LANGUAGE,
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    taken = set[str]()
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = stable_id(cell.get("id"), number, taken)
        for key in ("execution", "ExecuteTime", "collapsed", "scrolled", "trusted"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in merge_streams(cell.outputs) if is_kept(output, number)]
            for output in cell.outputs:
                clean(output)


def stable_id(current: str | None, number: int, taken: set[str]) -> str:
    """Keep a cell's own id; give a cell without one, or with another's, a name made from its place."""
    name = current if current and current not in taken else f"cell-{number:02d}"
    while name in taken:
        name += "a"
    taken.add(name)
    return name


def merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join what one stream printed in several pieces: where the kernel cuts depends on timing."""
    merged: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and merged and merged[-1].get("name") == output.name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def is_kept(output: NotebookNode, number: int) -> bool:
    """Drop progress bars and views that only a kernel can fill; refuse anything else on stderr."""
    if output.output_type == "stream" and output.name == "stderr":
        lines = [line for line in output.text.splitlines() if line.strip() and not PROGRESS.search(line)]
        if lines and not PROGRESS.search(output.text):
            raise ValueError(f"cell {number} wrote to stderr; mend what it warns of:\n" + "\n".join(lines))
        return False
    data = output.get("data", {})
    return WIDGET_VIEW not in data or "text/html" in data


def clean(output: NotebookNode) -> None:
    """Remove addresses, widget model ids, picture metadata and bertviz's script from one output."""
    output.get("metadata", NotebookNode()).pop("execution", None)
    if output.output_type == "stream":
        output.text = ADDRESS.sub(" at 0x...", output.text)
    if output.output_type == "error":
        output.traceback = [ADDRESS.sub(" at 0x...", line) for line in output.traceback]
    data = output.get("data", {})
    data.pop(WIDGET_VIEW, None)
    for kind, value in data.items():
        if kind == "image/png":
            data[kind] = strip_png(value)
        elif isinstance(value, str):
            data[kind] = ADDRESS.sub(" at 0x...", value)
    if "text/html" in data:
        data["text/html"] = without_script(data["text/html"])


def strip_png(encoded: str) -> str:
    """Keep the chunks of a base64 PNG that make the picture; drop text, dates and software names."""
    raw = base64.b64decode(encoded)
    kept, position = [raw[:8]], 8
    while position < len(raw):
        (length,) = struct.unpack(">I", raw[position : position + 4])
        end = position + 12 + length
        if raw[position + 4 : position + 8] in KEPT_PNG_CHUNKS:
            kept.append(raw[position:end])
        position = end
    return base64.b64encode(b"".join(kept)).decode()
