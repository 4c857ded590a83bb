"""Keep what a reader wrote, in one file that grows into a whole machine."""

import ast
import builtins
import dis
import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from transformer_edu.book.exercises.checks.fit import PARTS, check_fit
from transformer_edu.support.files import write_atomically

HEADER = '''"""My Transformer, built piece by piece."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
'''


def keep(*definitions: Any, path: str | Path = "my_transformer.py", start: str | Path | None = None) -> None:
    """Write functions and classes of your own into a file, in place of those of the same names.

    Each part of the machine is held against the package's first (see `check_fit`). The file imports math, torch, F, nn
    and Tensor; whatever else a part uses has to be in the file, or to be kept with it: keep(softmax, attention).

    Args:
        *definitions: what to keep, as it was defined in a notebook or a file.
        path: the file; it is made if it is not there, and replaced whole or not at all.
        start: another such file, whose text a new one begins with: my_gpt.py goes on from my_transformer.py.

    Raises:
        CheckFailed: a part does not fit; nothing is written.
        ValueError: none of them is a part of the machine, one uses a name that the file does not have, the file is
            not Python any more, or the text of a definition cannot be found.
        OSError: the file cannot be written.
    """
    parts = [part for part in definitions if getattr(part, "__name__", None) in PARTS]
    check_fit(*(parts or definitions))
    path = Path(path)
    first = path if path.exists() else start
    text = HEADER if first is None else Path(first).read_text(encoding="utf-8")
    for definition in definitions:
        text = _with(text, definition.__name__, source_of(definition), path)
    _check_names(text, path)
    write_atomically(path, text.encode())
    there = [name for name in PARTS if _place(ast.parse(text), name)]
    names = ", ".join(definition.__name__ for definition in definitions)
    print(f"✓ kept in {path}: {names} ({len(there)} of {len(PARTS)} parts are there)")
    if "google.colab" in sys.modules:
        print(
            "  Colab forgets its files: download this one (the folder at the left), and upload it for the next chapter."
        )


def source_of(definition: Any) -> str:
    """The text of a function or a class, from the cell or file that defined it last.

    Raises:
        ValueError: there is none, as for what was typed into a plain Python prompt.
    """
    code = next(_code_of(definition), None)
    text = "".join(linecache.getlines(code.co_filename)) if code else ""
    found = _place(ast.parse(text), definition.__name__)
    if not found:
        raise ValueError(f"the text of {definition.__name__} cannot be found: define it in a cell or a file")
    return "\n".join(text.splitlines()[found[0] : found[1]])


def _code_of(definition: Any) -> Iterator[CodeType]:
    """The code of a function, or of a class's own functions."""
    for member in [definition, *vars(definition).values()] if isinstance(definition, type) else [definition]:
        if hasattr(member, "__code__"):
            yield member.__code__


def _place(tree: ast.Module, name: str) -> tuple[int, int] | None:
    """The lines of the last definition of that name, first and one past the last, decorators included."""
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return first - 1, node.end_lineno or first
    return None


def _with(text: str, name: str, source: str, path: Path) -> str:
    """The file's text with one definition put in the place of the old one, or at its end."""
    try:
        place = _place(ast.parse(text), name)
    except SyntaxError as error:
        raise ValueError(f"{path} is not Python any more (line {error.lineno}): mend it, or move it away") from None
    if place is None:
        return f"{text.rstrip()}\n\n\n{source}\n"
    lines = text.splitlines()
    return "\n".join([*lines[: place[0]], *source.splitlines(), *lines[place[1] :]]) + "\n"


def _check_names(text: str, path: Path) -> None:
    """Raise if a function would not find a name when it is called."""
    module = compile(text, str(path), "exec")
    known = {step.argval for step in dis.get_instructions(module) if step.opname == "STORE_NAME"} | set(dir(builtins))
    for where, name in _global_names(module):
        if name not in known:
            both = f"checks.keep({name}, {where})"
            raise ValueError(f"{where} uses {name!r}, which {path} does not have: keep both, {both}, or write it out")


def _global_names(code: CodeType, where: str = "") -> Iterator[tuple[str, str]]:
    """Every name that code inside looks up in the module, with the definition that does."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            place = where or constant.co_name
            for instruction in dis.get_instructions(constant):
                if instruction.opname == "LOAD_GLOBAL":
                    yield place, instruction.argval
            yield from _global_names(constant, place)
