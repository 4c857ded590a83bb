"""The process in which a submission runs: its cells, one after the other, then its functions on all cases.

It knows the arguments of the cases and no right answer. The package that the notebook imports is not here: in its place
stands one whose `Examples` says nothing.
"""

import ast
import faulthandler
import json
import math
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from traceback import format_exception
from typing import Any

import torch
import torch.nn.functional as F
from IPython.core.inputtransformer2 import TransformerManager

from transformer_edu.book.exercises.classroom.observing import from_plain, in_words, observe
from transformer_edu.book.sandbox import sandbox

TOO_LONG = "it takes more than {:g} s: an endless loop?"
GRACE = 2.0  # seconds after which what does not let itself be interrupted, such as sum(range(10**12)), is ended
LONGEST = 2_000_000  # characters of what a function did in all cases: many times what right answers take
MOST_ERRORS = 100  # of cells, that are told
RUN_THE_REST = ("time", "capture", "prun")  # magics that run what stands after them, as if they were not there
_marks: list[int] = []  # where they are written, once that is not where everything is printed
STUBS = ("transformer_edu", "transformer_edu.book.exercises.classroom")
ON_THE_WAY = "\x1f{} {}\x1f"  # printed before foreign code runs: what it was, if it ends the process


class TimeUp(BaseException):
    """A cell or a function took too long; no `except Exception` holds it up."""


def main() -> None:
    """Read the order, lock the door, run, answer."""
    order = json.loads(sandbox.receive())
    transform = TransformerManager().transform_cell
    _hear_nothing_but_marks()
    unprotected = sandbox.lock_down(readable=readable())
    answer = sandbox.answer  # foreign code may put something else in its place
    _stub_the_package()
    place = namespace(transform)
    skip = {int(number) for number in order["skip_cells"]}
    cells, defined = run_cells(order["cells"], place, skip, transform, order["seconds"])
    answered = {}
    for problem in order["problems"]:
        if problem["name"] in order["skip_problems"]:
            continue
        _mark("problem", problem["name"])
        answered[problem["name"]] = answers(place.get(problem["name"]), problem, order["seconds"])
    cells = cells[:MOST_ERRORS]
    answer(json.dumps({"unprotected": unprotected, "cells": cells, "defined": defined, "answers": answered}).encode())


def namespace(transform: Callable[[str], str]) -> dict[str, Any]:
    """The names that are there before the first cell runs."""
    place: dict[str, Any] = {"__name__": "__main__", "math": math, "torch": torch, "F": F}
    place |= {"get_ipython": lambda: _Shell(transform, place), "display": lambda *_, **__: None}
    return place


def readable() -> list[Path]:
    """The folders that code may read in: Python, its packages, this package, the system; nothing of anybody's own."""
    package = Path(__file__).resolve().parents[3]
    installed = [sys.prefix, sys.base_prefix, sys.exec_prefix, *(path for path in sys.path if "-packages" in path)]
    stdlib = os.path.dirname(os.__file__)
    system = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/fonts", "/proc", "/sys", "/dev"]
    found = [Path(path).resolve() for path in [*installed, stdlib, *system, str(package)]]
    return [path for path in dict.fromkeys(found) if path.exists()]


def run_cells(
    cells: list[str], place: dict[str, Any], skip: set[int], transform: Callable[[str], str], seconds: float
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Run the cells in `place`; one that misses a name is tried again when the others have run.

    Returns:
        For each cell that failed in the end, its number (from 1) and the error; how often each function was defined.
    """
    errors: dict[int, str] = {}
    defined: Counter[str] = Counter()
    waiting = [number for number in range(1, len(cells) + 1) if number not in skip]
    while waiting:
        missing = []
        for number in waiting:
            _mark("cell", number)
            error = _run(cells[number - 1], place, transform, seconds)
            if error is None:
                errors.pop(number, None)
                defined.update(_functions(cells[number - 1], transform))
            else:
                errors[number] = error
                missing += [number] if error.startswith("it stops with NameError") else []
        if len(missing) == len(waiting):
            break
        waiting = missing
    return [{"cell": number, "error": error} for number, error in sorted(errors.items())], dict(defined)


def answers(fn: Any, problem: dict[str, Any], seconds: float) -> dict[str, list[dict[str, Any]]]:
    """What a function does in all cases, by group; after it has taken too long once, it is not called again."""
    found: dict[str, list[dict[str, Any]]] = {}
    slow, left = None, LONGEST
    for group, cases in problem["cases"].items():
        found[group] = []
        for arguments in cases:
            if not callable(fn):
                seen: dict[str, Any] = {"error": "it is not there: no cell defines a function of this name"}
            elif slow:
                seen = {"error": slow}
            else:
                try:
                    with _time_limit(seconds):
                        seen = observe(fn, tuple(from_plain(arguments)), problem["gradient"], problem["never"])
                        size = len(json.dumps(seen))
                    if size > left:
                        seen = {"error": "it returns far more than any right answer would be"}
                    else:
                        left -= size
                except TimeUp:
                    slow = TOO_LONG.format(seconds)
                    seen = {"error": slow}
                except BaseException as error:
                    seen = {"error": in_words(error)}
            found[group].append(seen)
    return found


def _run(cell: str, place: dict[str, Any], transform: Callable[[str], str], seconds: float) -> str | None:
    try:
        with _time_limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(transform(cell), "<cell>", "exec"), place)
    except TimeUp:
        return TOO_LONG.format(seconds)
    except BaseException as error:
        return in_words(error)
    return None


def _functions(cell: str, transform: Callable[[str], str]) -> list[str]:
    return [node.name for node in ast.parse(transform(cell)).body if isinstance(node, ast.FunctionDef)]


def _hear_nothing_but_marks() -> None:
    """What foreign code prints goes nowhere from now on: it would push the marks out of what the parent keeps."""
    descriptor = os.dup(2)
    _marks.append(descriptor)
    sys.excepthook = lambda *error: print("".join(format_exception(*error)), file=open(descriptor, "w"))  # noqa: SIM115
    nothing = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def _mark(what: str, name: object) -> None:
    for descriptor in _marks:
        os.write(descriptor, ON_THE_WAY.format(what, name).encode())


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def end(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.1)  # and again, where it was caught
        raise TimeUp

    gently = hasattr(signal, "setitimer")  # not on Windows
    for descriptor in _marks:  # it says "Timeout" there, and ends the process
        faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=descriptor)
    if gently:
        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if gently:
            signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


class _Shell:
    """What `get_ipython()` gives here: magics and shell lines do nothing, but for what runs the code after it."""

    def __init__(self, transform: Callable[[str], str], place: dict[str, Any]):
        self._transform, self._place = transform, place

    def run_line_magic(self, name: str, line: str, *_: Any) -> None:
        """`%time x = f()` runs what it times."""
        if name in RUN_THE_REST:
            exec(compile(self._transform(line), "<cell>", "exec"), self._place)

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        """`%%time` runs the cell below it."""
        self.run_line_magic(name, cell)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def _stub_the_package() -> None:
    """Put a stub in place of this package."""

    class Examples:
        def __init__(self, text: str = "") -> None:
            pass

        def check(self, answer: Any) -> None:
            pass

    for name in [module for module in sys.modules if module.partition(".")[0] == "transformer_edu"]:
        del sys.modules[name]
    package, classroom = (module_from_spec(ModuleSpec(name, None, is_package=True)) for name in STUBS)
    package.classroom, classroom.Examples = classroom, Examples  # type: ignore[attr-defined]
    sys.modules |= {package.__name__: package, classroom.__name__: classroom}


if __name__ == "__main__":
    main()
