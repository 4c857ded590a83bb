"""The visible checks of a student's notebook: what each function should return for a few arguments."""

import base64
import inspect
import json
import zlib
from collections.abc import Callable
from typing import Any

from transformer_edu.book.exercises.classroom.comparing import difference, shown
from transformer_edu.book.exercises.classroom.drawing import Drawn
from transformer_edu.book.exercises.classroom.observing import from_plain, observe, plain
from transformer_edu.book.exercises.classroom.problems import EXAMPLES

WIDTH = 76  # of the lines of text that a notebook holds


class Examples:
    """The examples of a problem set.

        examples = Examples('''…''')
        examples.check(softmax)

    Args:
        text: what `packed` has written.

    Raises:
        ValueError: it was cut or changed.
    """

    def __init__(self, text: str):
        try:
            self._cases = json.loads(zlib.decompress(base64.b64decode("".join(text.split()))))
        except (ValueError, zlib.error):
            raise ValueError("the examples' text was cut or changed: copy the cell again from the handout") from None

    def check(self, answer: Callable[..., Any]) -> None:
        """Call a function of yours on its examples, and print whether it returns what it should."""
        name = getattr(answer, "__name__", repr(answer))
        if name not in self._cases:
            raise ValueError(f"answer must be one of the functions {', '.join(self._cases)}, got {name}")
        problem = self._cases[name]
        for number, case in enumerate(problem["cases"], start=1):
            arguments = tuple(from_plain(case["arguments"]))
            seen = observe(answer, arguments, problem["gradient"], problem.get("never", ()))
            if "output" in seen and seen["output"] is None and case["wanted"]["output"] is not None:
                print(f"✗ {name}: it returns nothing yet")
                return
            wrong = difference(case["wanted"], seen)
            if wrong:
                print(f"✗ {name}, example {number} of {len(problem['cases'])}: {wrong}.")
                for label, argument in zip(problem["arguments"], case["arguments"], strict=True):
                    print(f"    {label} = {shown(argument)}")
                for key in ("gradients", "output") if "gradient" in wrong else ("output",):
                    for label, found in (("it returns", seen), ("wanted is ", case["wanted"])):
                        if key in found:
                            print(f"    {label if key == 'output' else f'{label} (gradients)'}  {shown(found[key])}")
                return
        count = len(problem["cases"])
        print(f"✓ {name}: right in {count} example{'s' * (count > 1)}. Hidden tests will try more.")


def packed(problems: list[Drawn]) -> str:
    """The examples of a set's problems, as text for a notebook."""
    found = {}
    for drawn in problems:
        cases = [{"arguments": plain(list(arguments)), "wanted": wanted} for arguments, wanted in drawn.calls[EXAMPLES]]
        names = list(inspect.signature(drawn.right).parameters)
        problem = {"gradient": drawn.problem.gradient, "never": drawn.problem.never}
        found[drawn.name] = {**problem, "arguments": names, "cases": cases}
    text = base64.b64encode(zlib.compress(json.dumps(found).encode(), 9)).decode()
    return "\n".join(text[start : start + WIDTH] for start in range(0, len(text), WIDTH))
