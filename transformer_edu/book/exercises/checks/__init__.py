"""Checks that teach: hand in your own implementation, learn which known mistake it makes.

Each check runs small trials, prints one line when all of them pass, and otherwise raises `CheckFailed` with the
smallest failing example, the mistake that produces exactly that answer, and a hint. Besides the numbers it looks at
whether inputs were changed and whether the gradient comes through what training goes back through. Its verdict does not
hang on the process's settings (gradients, autocast, default dtype and device, seeds, ...), which it leaves as they are.

Each file in `components/` is a check; below, each one says what it calls. Three more are for the parts of a machine of
your own:

    check_part(part, kind=None)                  any part, in any style, as `transformer-edu check` judges it
    check_fit(*definitions)                      same weights by name, and same answers, as the package's parts
    keep(*definitions, path="my_transformer.py") writes them into one file, once they fit

`catalogue(component)` lists the known mistakes of one component, `component_names()` the components.

The checks, in the order of the chapters:
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from transformer_edu.book.exercises.checks import components as _folder
from transformer_edu.book.exercises.checks.engine import CheckFailed, Component, Mistake
from transformer_edu.book.exercises.checks.engine.laboratory import laboratory


def _first_line(check: Callable[..., None]) -> str:
    """What a check calls, as its docstring begins to tell."""
    return (check.__doc__ or "").partition("\n")[0].removeprefix("Check ")


with laboratory():  # the tensors of the trials are made here and now, whatever the default dtype or device is
    from transformer_edu.book.exercises.checks.fit import check_fit
    from transformer_edu.book.exercises.checks.keep import keep
    from transformer_edu.book.exercises.checks.part import check_part

    _MODULES = [import_module(f"{_folder.__name__}.{file.name}") for file in iter_modules(_folder.__path__)]

_WITH_CATALOGUE = [module.COMPONENT for module in _MODULES if hasattr(module, "COMPONENT")]  # others ask the judge
_COMPONENTS: dict[str, Component] = {
    entry.name: entry for entry in sorted(_WITH_CATALOGUE, key=lambda entry: (entry.chapter, entry.name))
}
_MODULES.sort(key=lambda module: getattr(module, "CHAPTER", 0) or module.COMPONENT.chapter)
_CHECKS: dict[str, Callable[..., None]] = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if name.startswith("check_") and value.__module__ == module.__name__
}
globals().update(_CHECKS)
__doc__ = f"{__doc__}\n" + "\n".join(f"    {name}: {_first_line(check)}" for name, check in _CHECKS.items())
__all__ = [
    "CheckFailed",
    "Mistake",
    "catalogue",
    "chapter_of",
    "check_fit",
    "check_part",
    "component_names",
    "keep",
    *_CHECKS,
]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., None]: ...


def component_names() -> list[str]:
    """The names of the components that have a catalogue, in the order of the chapters."""
    return list(_COMPONENTS)


def chapter_of(component: str) -> int:
    """The number of the chapter that teaches a component."""
    return _named(component).chapter


def catalogue(component: str) -> list[Mistake]:
    """The known mistakes of one component: each has a name, a symptom, a why, a hint, and `wrong`, its code."""
    return list(_named(component).mistakes)


def _named(component: str) -> Component:
    if component not in _COMPONENTS:
        raise ValueError(f"component must be one of {', '.join(map(repr, _COMPONENTS))}, got {component!r}")
    return _COMPONENTS[component]
