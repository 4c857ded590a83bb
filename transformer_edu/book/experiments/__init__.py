"""Experiments: what is too dear to compute on every build of the book, and is kept as a recording.

The file NAME.py has one function under `@experiment("NAME")`; called with nothing, it returns what shall stand in
`recordings/NAME.json`. `tools/make_recordings.py` finds it by walking two folders: this one, of what chapters import,
and `tools/experiments`, of what makes a recording and nothing else.

What trains is an experiment and is written here. What a figure shows of a shipped model is made and checked in
`figures/NAME_data.py`; the experiment here only says of which model and which sentence.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, TypeVar

Record = TypeVar("Record", bound=Callable[..., dict[str, Any]])

_declared: dict[str, Callable[..., dict[str, Any]]] = {}


def experiment(name: str) -> Callable[[Record], Record]:
    """Declare a function as what makes the recording of this name."""

    def declare(record: Record) -> Record:
        _declared[name] = record
        return record

    return declare


def all_experiments(*elsewhere: ModuleType) -> dict[str, Callable[..., dict[str, Any]]]:
    """What every file of this folder, and of other packages, declares: name of the recording -> what makes it."""
    for name, folder in [(__name__, __path__), *((package.__name__, package.__path__) for package in elsewhere)]:
        for module in iter_modules(folder):
            import_module(f"{name}.{module.name}")
    return dict(sorted(_declared.items()))
