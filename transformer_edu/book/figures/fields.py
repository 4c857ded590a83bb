"""What a figure is declared of: fields, read from top to bottom.

    class PathLengthRacer(Figure):
        n = whole(16, FEWEST, MOST)
        step = whole(0, 0, lambda so: so.n)
        racers = made(traitlets.List(), lambda so: racers_of(so.n))

A field is a synchronized trait that knows how it is checked and what it is at first. The arguments of a figure are its
fields in this order; what is left out takes its default, and so does None where the default is computed. A default, a
bound or a check that is a function is given `so`, with all fields above this one as attributes. What is `made` is no
argument, and an `argument` is no trait: fields below it read it.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import traitlets

from transformer_edu.book.figures import inputs
from transformer_edu.support.validation import check_boolean, check_choice

NOTHING = inspect.Parameter.empty
Check = Callable[[str, Any, SimpleNamespace], Any]


@dataclass(frozen=True)
class Argument:
    """What a figure is given besides its fields: a model, a tokenizer."""

    default: Any = None
    first: bool = False


def argument(default: Any = None, *, first: bool = False) -> Any:
    """An argument that is no part of the state; `so` has it from the beginning, as it was given.

    Such arguments come after the fields, or, with `first`, where they are declared.
    """
    return Argument(default, first)


def field(trait: traitlets.TraitType[Any, Any], default: Any, check: Check) -> Any:
    """A field of its own kind. `check(name, value, so)` returns what is kept, or raises and names both."""
    return trait.tag(sync=True, default=default, check=check)


def made(trait: traitlets.TraitType[Any, Any], of: Callable[[SimpleNamespace], Any]) -> Any:
    """What is computed of the fields above, `of(so)`."""
    return trait.tag(sync=True, of=of)


def whole(default: Any, low: Any, high: Any) -> Any:
    """A whole number from `low` to `high`."""
    return field(traitlets.Int(), default, lambda name, n, so: inputs.check_range(name, n, _at(low, so), _at(high, so)))


def index(default: Any, count: Any) -> Any:
    """A whole number from 0 to `count` - 1."""
    return whole(default, 0, lambda so: _at(count, so) - 1)


def real(default: Any, low: float, high: float) -> Any:
    """A number from `low` to `high`."""
    return field(traitlets.Float(), default, lambda name, x, so: inputs.check_real(name, x, low, high))


def switch(default: Any) -> Any:
    """True or False."""
    return field(traitlets.Bool(), default, lambda name, on, so: _passed(check_boolean, name, on))


def choice(default: Any, options: Any) -> Any:
    """One of a few names."""
    return field(
        traitlets.Unicode(), default, lambda name, pick, so: _passed(check_choice, name, pick, tuple(_at(options, so)))
    )


def one_of(default: Any, numbers: Any) -> Any:
    """One of a few whole numbers."""
    return field(
        traitlets.Int(), default, lambda name, n, so: _passed(inputs.check_one_of, name, n, tuple(_at(numbers, so)))
    )


def text(default: Any, least: int, most: int) -> Any:
    """A str of so many characters."""
    return field(traitlets.Unicode(), default, lambda name, value, so: inputs.check_text(name, value, least, most))


def words(default: Any, least: int = 1, most: int = inputs.MAX_TOKENS) -> Any:
    """So many strings."""
    return field(
        traitlets.List(traitlets.Unicode()),
        default,
        lambda name, all_, so: inputs.check_words(name, all_, _at(least, so), _at(most, so)),
    )


def signature(fields: dict[str, Any]) -> inspect.Signature:
    """The arguments of a figure with these fields; a default that is computed shows as None."""
    defaults = {name: _default(entry) for name, entry in fields.items()}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    arguments = {name: default for name, default in defaults.items() if default is not NOTHING}
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=None if callable(default) else default)
            for name, default in sorted(arguments.items(), key=lambda pair: _is_last(fields[pair[0]]))
        ]
    )


def filled(fields: dict[str, Any], given: dict[str, Any]) -> SimpleNamespace:
    """All fields, checked or made from top to bottom."""
    so = SimpleNamespace(**{name: given[name] for name, entry in fields.items() if isinstance(entry, Argument)})
    for name, entry in fields.items():
        if isinstance(entry, Argument):
            continue
        if "of" in entry.metadata:
            setattr(so, name, entry.metadata["of"](so))
            continue
        value, default = given[name], entry.metadata["default"]
        if value is None and callable(default):
            value = default(so)
        setattr(so, name, entry.metadata["check"](name, value, so))
    return so


def fields_of(cls: type) -> dict[str, Any]:
    """The fields of a class, its own first, then those that it inherits."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        for name, value in vars(base).items():
            trait = isinstance(value, traitlets.TraitType) and value.metadata.keys() & {"check", "of"}
            if trait or isinstance(value, Argument):
                found.setdefault(name, value)
    return found


def _is_last(entry: Any) -> bool:
    return isinstance(entry, Argument) and not entry.first


def _default(entry: Any) -> Any:
    return entry.default if isinstance(entry, Argument) else entry.metadata.get("default", NOTHING)


def _at(value: Any, so: SimpleNamespace) -> Any:
    return value(so) if callable(value) else value


def _passed(check: Callable[..., None], name: str, value: Any, *more: Sequence[Any]) -> Any:
    check(name, value, *more)
    return value
