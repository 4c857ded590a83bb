"""Sphinx extension: the page of the package's public names, written from their signatures and docstrings."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from catalogue import plain
from sphinx.application import Sphinx
from written import write_page

import transformer_edu

PAGE = "book/api"
PLACE = "<!-- api -->"  # what stands in the page's source where the names go
SECTION = re.compile(r"(Args|Returns|Raises|Attributes):$")
SEPARATOR = re.compile(r", (?=\*|\w+(?:: |=|$|, ))")  # not the one in `Callable[[int], nn.Module]`
WIDTH = 80  # letters that fit the column
ENTRY = re.compile(r"(\*{0,2}\w[\w, *]*): (.*)", re.S)


def signatures(thing: Any) -> Iterator[str]:
    """The signatures of a function, or of what a class is made with and called with, as the source has them."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    if isinstance(tree, ast.ClassDef):
        methods = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        fields = [ast.unparse(one) for one in tree.body if isinstance(one, ast.AnnAssign)]
        yield call(tree.name, arguments(methods["__init__"]) if "__init__" in methods else fields)
        for name, method in methods.items():
            if not name.startswith("_"):
                yield call(f".{name}", arguments(method), method.returns)
    elif isinstance(tree, ast.FunctionDef):
        yield call(tree.name, arguments(tree), tree.returns)


def arguments(function: ast.FunctionDef) -> list[str]:
    """A function's arguments without `self`."""
    every = function.args
    every.args = [one for one in every.args if one.arg != "self"]
    return SEPARATOR.split(ast.unparse(every))


def call(name: str, arguments: list[str], returns: ast.expr | None = None) -> str:
    """A signature: on one line if it is short, else with an argument a line."""
    ending = f") -> {ast.unparse(returns)}" if returns else ")"
    line = f"{name}({', '.join(arguments)}{ending}"
    return (
        line if len(line) <= WIDTH else "\n    ".join([f"{name}(", *(f"{one}," for one in arguments)]) + f"\n{ending}"
    )


def markdown(docstring: str) -> Iterator[str]:
    """A docstring's paragraphs, lists of arguments and examples as Markdown."""
    for block in re.split(r"\n\s*\n", docstring.strip()):
        first, *rest = block.splitlines()
        if block.lstrip().startswith(">>>"):
            yield f"```pycon\n{textwrap.dedent(block)}\n```"
        elif SECTION.match(first):
            yield f"*{first}*"
            entries = re.split(r"\n(?=\S)", textwrap.dedent("\n".join(rest)))
            yield "\n".join(f"- {entry(' '.join(one.split()))}" for one in entries)
        else:
            yield plain(" ".join(block.split()))


def entry(text: str) -> str:
    """One line of a list of arguments: the name stands out."""
    found = ENTRY.fullmatch(text)
    return f"`{found[1]}`: {plain(found[2])}" if found else plain(text)


def entries() -> Iterator[str]:
    """A section for each public name."""
    for name in transformer_edu.__all__:
        thing = getattr(transformer_edu, name)
        if not callable(thing):
            continue
        yield f"## `{name}`"
        yield f"From `{thing.__module__}`."
        yield "```python\n" + "\n".join(signatures(inspect.unwrap(thing))) + "\n```"
        yield from markdown(inspect.getdoc(thing) or "")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register."""
    write_page(app, PAGE, PLACE, lambda: "\n\n".join(entries()))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
