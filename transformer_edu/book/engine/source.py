"""The JavaScript that runs a model, as text for a page or a worker."""

from functools import cache
from pathlib import Path

from transformer_edu.support.javascript import exported, joined


@cache
def engine_source() -> str:
    """Statements that make `engine`, an object with all that js/engine.js exports.

    It comes out of a function, `startEngine`, whose text can be sent to a worker.
    """
    index = Path(__file__).parent / "js" / "engine.js"
    names = ", ".join(exported(index))
    return f"function startEngine() {{\n{joined(index)}return {{ {names} }};\n}}\nconst engine = startEngine();\n"
