"""A chapter for a reader who opens it elsewhere, in Colab, Jupyter or VS Code, which know nothing of the book's markup.

The chapters are written for the book: boxes, folded hints and solutions, and references are directives that the build
turns into HTML, and any other program prints as they stand. `plain` writes the same chapter in Markdown that they all
show, keeps folded what the book folds, and lets every cell run from the first to the last:

- boxes become quotes, folded ones `<details>`; `{cite}` becomes the authors, the year and a link;
- code that the book folds is hidden, a solution's too; what a Predict box asks for is not printed until it is run, and
  the words about it are folded;
- the check that fails on purpose says its words and does not stop what runs after it;
- under a figure stands that it comes alive when its cell is run; links to other chapters lead to these again.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from labels import FIGURE, kind_shown, what_it_does
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file

BRANCH = "colab"
REFERENCES = Path(__file__).resolve().parents[1] / "references.bib"
FENCE = re.compile(r"^:::\{(?P<kind>[\w-]+)\} ?(?P<title>.*)$")
OPTION = re.compile(r"^:(\w+): *(.*)$")
END = ":::"
CITE = re.compile(r"\{(cite|cite:t)\}`([\w, -]+)`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
CHAPTER = re.compile(r"^(\d\d-[\w-]+\.ipynb)(#[\w-]+)?$")
ALIVE = "*A picture of a figure: run the cell above, and it comes alive.*"
SETUP, ANSWER, SOLUTION = "Setup", "Your guess first. Then run this", "Solution"
IN_WORDS = "The answer in words"
EXERCISE, SOLVED = "exercise-", "solution-"


def plain(notebook: NotebookNode, colab: str = "", site: str = "") -> NotebookNode:
    """A copy of a chapter that needs nothing of the book's build.

    Args:
        notebook: the chapter, as the book holds it; it is left as it is.
        colab: the address before a chapter's file name at which Colab opens it; "" leaves links between files.
        site: the address at which the book is published, with a slash at its end; "" drops links to its other pages.

    Raises:
        ValueError: if the chapter uses a directive that has no plain form.
    """
    cells, solved, asked = [], False, False
    for cell in nbformat.from_dict(notebook).cells:
        if cell.cell_type == "markdown":
            source = explained(cell.source) if asked and not FENCE.match(cell.source) else cell.source
            text, solved = in_markdown(source, solved)
            cell.source, asked = linked(cited(text), colab, site), False
            cells += [cell] if cell.source.strip() else []
        else:
            asked = "covered" in cell.metadata.get("tags", [])
            runs_through(cell)
            fold(cell, solved)
            cells.append(cell)
            if shown_by(cell) == FIGURE:
                cells.append(nbformat.v4.new_markdown_cell(ALIVE, id=f"{cell.id}-alive"))
    metadata = nbformat.from_dict(notebook.metadata)
    return nbformat.from_dict({**notebook, "metadata": metadata, "cells": cells})


def colab_folder(colab: str, repository: str) -> str:
    """The address before a chapter's file name at which Colab opens it: on a branch of its own.

    >>> colab_folder("https://colab.research.google.com", "https://github.com/someone/book")
    'https://colab.research.google.com/github/someone/book/blob/colab/notebooks/'
    >>> colab_folder("", "")
    ''
    """
    return f"{colab}/github{urlsplit(repository).path}/blob/{BRANCH}/notebooks/" if colab and repository else ""


def in_markdown(text: str, solved: bool) -> tuple[str, bool]:
    """A cell's Markdown without directives, and whether a solution goes on behind it.

    Args:
        text: as the book has it.
        solved: whether the cell begins within a solution.
    """
    parts: list[tuple[bool, list[str]]] = [(solved, [])]
    lines = iter(text.splitlines())
    for line in lines:
        fence = FENCE.match(line)
        if fence is None:
            parts[-1][1].append(line)
        elif fence["kind"].startswith(EXERCISE):
            body = list(until_end(lines))
            if fence["kind"].endswith("start"):
                parts[-1][1].extend(["---", "", f"### Exercise {fence['title']}", *without_options(body)])
        elif fence["kind"].startswith(SOLVED):
            solved = fence["kind"].endswith("start")
            parts.append((solved, without_options(list(until_end(lines)))))
        elif fence["kind"] == "admonition":
            parts[-1][1].extend(box(fence["title"], list(until_end(lines))))
        else:
            raise ValueError(f"{fence['kind']!r} has no plain form: {line}")
    written = [folded(SOLUTION, part) if inside else "\n".join(part) for inside, part in parts if any(part)]
    return "\n\n".join(one.strip("\n") for one in written), solved


def explained(text: str) -> str:
    """Markdown behind an answer: its first paragraph, which explains the answer, folded."""
    first, gap, rest = text.partition("\n\n")
    return text if first.startswith("#") else f"{folded(IN_WORDS, [first])}{gap}{rest}"


def until_end(lines: Iterator[str]) -> Iterator[str]:
    """The lines of a directive."""
    for line in lines:
        if line.rstrip() == END:
            return
        yield line


def without_options(body: list[str]) -> list[str]:
    """The lines of a directive behind its options."""
    first = next((i for i, line in enumerate(body) if not OPTION.match(line)), len(body))
    return "\n".join(body[first:]).strip("\n").splitlines()


def box(title: str, body: list[str]) -> list[str]:
    """A box as a quote, a folded one as one that opens."""
    if any(option and option[2] == "dropdown" for option in map(OPTION.match, body)):
        return ["", folded(title, without_options(body)), ""]
    quoted = [f"**{title}**", "", *without_options(body)]
    return ["", *(f"> {line}".rstrip() for line in quoted), ""]


def folded(title: str, body: list[str]) -> str:
    """What opens at a click; Markdown inside needs its empty lines."""
    text = "\n".join(body).strip("\n")
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


@cache
def references() -> dict[str, Entry]:
    """The entries of the bibliography."""
    return dict(parse_file(str(REFERENCES)).entries)


def cited(text: str) -> str:
    """Citations as authors and year, linked.

    >>> cited("as {cite:t}`alammar2018illustrated` draws it")
    'as [Alammar (2018)](https://jalammar.github.io/illustrated-transformer/) draws it'
    """
    return CITE.sub(lambda found: cite(found[1], [key.strip() for key in found[2].split(",")]), text)


def cite(role: str, keys: list[str]) -> str:
    """One citation, of one or more works."""
    works = []
    for key in keys:
        entry = references()[key]
        names = [" ".join(one.prelast_names + one.last_names).strip("{}") for one in entry.persons["author"]]
        who = names[0] if len(names) == 1 else f"{names[0]} and {names[1]}" if len(names) == 2 else f"{names[0]} et al."
        year, url = entry.fields["year"], entry.fields.get("url")
        words = f"{who} ({year})" if role == "cite:t" else f"{who}, {year}"
        works.append(f"[{words}]({url})" if url else words)
    return "; ".join(works) if role == "cite:t" else f"({'; '.join(works)})"


def linked(text: str, colab: str, site: str) -> str:
    """Links to chapters lead to plain chapters, those to other pages to the published book."""

    def lead(link: re.Match[str]) -> str:
        words, target = link.groups()
        if chapter := CHAPTER.match(target):
            return f"[{words}]({colab}{chapter[1]})"
        if target.startswith("../"):
            page = re.sub(r"\.(?:md|ipynb)(?=#|$)", ".html", target.removeprefix("../"))
            return f"[{words}]({site}{page})" if site else words
        return words if target.startswith("#") else link[0]  # places on a page have other names everywhere

    return LINK.sub(lead, text)


def runs_through(cell: NotebookNode) -> None:
    """Let a cell that fails on purpose say what went wrong, and end well."""
    tags = cell.metadata.get("tags", [])
    if "raises-exception" not in tags:
        return
    cell.metadata.tags = [tag for tag in tags if tag != "raises-exception"]
    lines = cell.source.splitlines()
    start = ast.parse(cell.source).body[-1].lineno - 1
    last = [f"    {line}" for line in lines[start:]]
    report = [
        "except Exception as mistake:  # it is meant to fail",
        '    print(f"{type(mistake).__name__}: {mistake}")',
    ]
    cell.source = "\n".join([*lines[:start], "try:", *last, *report])
    cell.outputs = []


def shown_by(cell: NotebookNode) -> str:
    """What stands under a cell, as labels.py names it."""
    data = [output.get("data", {}) for output in cell.outputs]
    html = "".join(one.get("text/html", "") for one in data)
    return kind_shown(html, any("image/png" in one for one in data), bool(cell.outputs))


def fold(cell: NotebookNode, solved: bool) -> None:
    """Hide the code, or code and output, that the book hides; a title says what stands there."""
    tags = set(cell.metadata.get("tags", []))
    asked = "covered" in tags
    titles = {SETUP: "remove-cell" in tags, SOLUTION: solved, ANSWER: asked}
    title = next((title for title, fits in titles.items() if fits), "")
    if not title and tags & {"hide-input", "hide-cell"}:
        title = what_it_does(cell.source, shown_by(cell)).replace("`", "")
    if not title:
        return
    cell.source = f"# @title {title}\n{cell.source}"
    cell.metadata["cellView"] = "form"
    cell.metadata["jupyter"] = {"source_hidden": True}
    if solved or asked or "hide-cell" in tags:
        cell.outputs, cell.execution_count = [], None
