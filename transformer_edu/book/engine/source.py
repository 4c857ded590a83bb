"""The JavaScript of the book as esbuild joined it: a text for each figure, and one for the engine."""

from functools import cache
from pathlib import Path

BUNDLES = Path(__file__).parent.parent / "bundles"


def bundled(name: str) -> str:
    """The text of bundles/NAME.js, or raise if it was not made: a wheel has it, a checkout makes it."""
    try:
        return (BUNDLES / f"{name}.js").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{BUNDLES / name}.js must be there, the JavaScript of {name} in one text: in a checkout, "
            "`python tools/javascript.py bundle` makes it"
        ) from error


@cache
def engine_source() -> str:
    """Statements that make `engine`, an object with all that js/engine.js exports.

    It comes out of a function, `startEngine`, whose text can be sent to a worker.
    """
    return bundled("engine")
