"""Experiments: what is too dear to compute on every build of the book, and is kept as a recording.

The file NAME.py has one function under `@experiment("NAME")`; called with nothing, it returns what shall stand in
`recordings/NAME.json`. `tools/make_recordings.py` finds it by walking this folder.

What trains is an experiment and is written here. What a figure shows of a shipped model is made and checked in
`widgets/NAME_data.py`; the experiment here only says of which model and which sentence.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

Record = TypeVar("Record", bound=Callable[..., dict[str, Any]])

_declared: dict[str, Callable[..., dict[str, Any]]] = {}


def experiment(name: str) -> Callable[[Record], Record]:
    """Declare a function as what makes the recording of this name."""

    def declare(record: Record) -> Record:
        _declared[name] = record
        return record

    return declare


def all_experiments() -> dict[str, Callable[..., dict[str, Any]]]:
    """What every file of this folder declares: name of the recording -> what makes it."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(sorted(_declared.items()))
