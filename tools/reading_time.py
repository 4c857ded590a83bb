"""Estimate how long a chapter's main line takes to read, from the notebook alone.

    python tools/reading_time.py                 # a table of every chapter
    python tools/reading_time.py 06-attention    # one

Words of prose at 120 a minute, a line of code that is shown at 4.5 seconds, a picture or figure at a minute and a half,
a question at a minute: so it comes within 15 % of what newcomers took for five chapters (01, 03, 06, 07, 10: 28 to 40
minutes). What is folded does not count: drop-down boxes, cells tagged `hide-input`, `hide-cell` or `remove-cell`,
sections headed *Going deeper*, and the exercises with what follows them.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
WORDS_A_MINUTE = 120
SECONDS_A_LINE = 4.5
SECONDS_A_LOOK = 90  # a picture, a figure
SECONDS_A_QUESTION = 60
LONGEST = 31  # minutes of a main line
HEADING = re.compile(r"^(#+) +(.*)$")
NUMBER = re.compile(r"\\tag\{[\d.]+\}")  # of an equation: nobody reads it
FOLDED_SECTION = re.compile(r"Going deeper\b|Exercises$")
FOLDED_CODE = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
SAID = re.compile(r"[Rr]eading(?: it)? takes about (\d+) minutes")


@dataclass(frozen=True)
class MainLine:
    """What stands open on a chapter's page: counts, and the estimate in minutes."""

    prose: int
    code_words: int
    output_words: int
    code_lines: int
    looks: int
    questions: int

    @property
    def minutes(self) -> float:
        """The estimate."""
        looking = SECONDS_A_LOOK * self.looks + SECONDS_A_QUESTION * self.questions
        seconds = SECONDS_A_LINE * self.code_lines + looking
        return self.prose / WORDS_A_MINUTE + seconds / 60

    @property
    def words(self) -> int:
        """Prose, code and printed outputs together."""
        return self.prose + self.code_words + self.output_words


def measure(notebook: NotebookNode) -> MainLine:
    """Count what the main line of a chapter asks of a reader."""
    prose = code_words = output_words = code_lines = looks = questions = 0
    for cell, source in open_cells(notebook):
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type == "markdown":
            prose += len([word for word in NUMBER.sub("", source).split() if re.search(r"\w", word)])
            questions += len(re.findall(r"(?m)^:::+ *\{admonition\} Predict", source))
            questions += recalled(source)
            continue
        if not tags & FOLDED_CODE:
            code_lines += len([line for line in source.splitlines() if line.strip()])
            code_words += len(source.split())
        if not tags & {"hide-cell", "hide-output", "remove-cell", "remove-output"}:
            looks += sum(is_picture(output) for output in cell.outputs)
            output_words += sum(len(printed(output).split()) for output in cell.outputs)
    return MainLine(prose, code_words, output_words, code_lines, looks, questions)


def open_cells(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str]]:
    """Each cell with the part of its source that is not folded."""
    folded_at = 0  # the level of the heading that folds what follows; 0: none
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            lines: list[str] = []
            for line in cell.source.splitlines():
                if heading := HEADING.match(line):
                    level = len(heading[1])
                    if not folded_at or level <= folded_at:
                        folded_at = level if FOLDED_SECTION.match(heading[2]) else 0
                if not folded_at:
                    lines.append(line)
            yield cell, without_folded_boxes("\n".join(lines))
        elif not folded_at and "remove-cell" not in cell.metadata.get("tags", []):
            yield cell, cell.source


def without_folded_boxes(text: str) -> str:
    """Drop the boxes of class `dropdown`."""
    box = re.compile(r"^(:{3,}) *\{[^}]*\}[^\n]*\n(?:\1:* *\n)?:class:[^\n]*dropdown[^\n]*\n.*?^\1 *$", re.M | re.S)
    return box.sub("", text)


def recalled(source: str) -> int:
    """The questions in the box that a chapter begins with."""
    box = re.search(r"^(:{3,}) *\{admonition\} Two questions.*?^\1 *$", source, re.M | re.S)
    return len(re.findall(r"(?m)^\d+\. ", box[0])) if box else 0


def is_picture(output: NotebookNode) -> bool:
    """Tell whether an output is something to look at."""
    data = output.get("data", {})
    return any(kind.startswith("image/") for kind in data) or "data-widget" in data.get("text/html", "")


def printed(output: NotebookNode) -> str:
    """The words that an output prints."""
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return "" if is_picture(output) else str(output.get("data", {}).get("text/plain", ""))


def said(notebook: NotebookNode) -> int | None:
    """The minutes that the chapter itself says."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := SAID.search(cell.source)):
            return int(found[1])
    return None


def main(names: list[str]) -> None:
    """Print a table."""
    print(f"{'chapter':34s}  min said  prose  code lines  looks  questions  all words")
    for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")):
        if names and path.stem not in names:
            continue
        notebook = nbformat.read(path, as_version=4)
        line, told = measure(notebook), said(notebook)
        print(
            f"{path.stem:34s} {line.minutes:4.0f} {told or '-':>4}  {line.prose:5d}  {line.code_lines:10d}"
            f"  {line.looks:5d}  {line.questions:9d}  {line.words:9d}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
