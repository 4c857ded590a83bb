"""What a failed check says: what was tried, what came out, which mistake it is, and a hint."""

import re
import traceback
from dataclasses import fields, is_dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine.compare import Change, Misshapen, Raised, agree
from transformer_edu.book.exercises.checks.engine.trial import Mistake, Trial

INDENT = "    "
ABOUT_SHAPES = re.compile(r"\b(?:shapes?|sizes?|dim(?:ension)?s?|mat[12]|batch1|broadcast\w*|expand\w*|view)\b", re.I)
LARGEST_SHOWN = 32  # entries of an argument that are printed rather than described


def failure_report(heading: str, trial: Trial, expected: Any, got: Any, mistake: Mistake | None, certain: bool) -> str:
    """The whole message for a trial that failed."""
    lines = [f"✗ {heading}, {trial.title}", ""]
    for name, value in trial.given.items():
        lines += labelled(name, argument(value, always_shape=isinstance(got, Raised)))
    lines += difference(expected, got, trial.tolerance)
    return "\n".join([*lines, "", *diagnosis(got, mistake, certain)])


def diagnosis(got: Any, mistake: Mistake | None, certain: bool) -> list[str]:
    """Name the mistake, or say honestly that it is none of the known ones."""
    if isinstance(got, Raised) and isinstance(got.error, NotImplementedError):
        return ["Not written yet: the function raises NotImplementedError. Fill it in and run the check again."]
    if mistake is None and isinstance(got, Raised):
        return stopped(got.error)
    if mistake is None and isinstance(got, Misshapen):
        return ["Your code ran, and what it gives back has not the form that is asked for: see `got` above."]
    if mistake is None:
        return [
            "This is none of the known mistakes. Work the small example above through by hand, step by step, "
            "and print each intermediate result: where does yours first differ?"
        ]
    lines = [
        f"Diagnosis: {mistake.name}.",
        f"Why:       {mistake.why}",
        f"Symptom:   {mistake.symptom}.",
        f"Hint:      {mistake.hint}",
    ]
    if not certain:
        lines.append("(In other trials something else differs too. Mend this first, then run the check again.)")
    return lines


def stopped(error: Exception) -> list[str]:
    """What to look at after an error that no known mistake makes."""
    if ABOUT_SHAPES.search(str(error)):
        return [
            "Your code stopped with an error that is none of the known ones. Which shapes does the line named above "
            "need, and which does it get? The shapes of the inputs are beside them."
        ]
    return [
        "Your code stopped with an error that is none of the known ones. What does the line named above work with? "
        "Print the type of each thing in it: which one is not what you took it for, and where was it made?"
    ]


def difference(expected: Any, got: Any, tolerance: float) -> list[str]:
    """Expected and got, reduced to the smallest part in which they differ."""
    if isinstance(expected, dict) and isinstance(got, dict):
        lines = []
        for name, value in expected.items():
            if got[name] is not None and not agree(value, got[name], tolerance):
                lines += difference_of(f" {name}", value, got[name], tolerance)
        return lines
    if isinstance(expected, dict):
        name, value = next(iter(expected.items()))
        return labelled(f"expected {name}", argument(value, isinstance(got, Raised))) + difference_got(got)
    return difference_of("", expected, got, tolerance)


def difference_got(got: Any) -> list[str]:
    """What came out where it cannot be set beside the expectation, entry by entry."""
    return labelled("got", raised(got) if isinstance(got, Raised) else argument(got))


def difference_of(name: str, expected: Any, got: Any, tolerance: float) -> list[str]:
    """Two labelled blocks, expected and got; one line for a finding that is yes or no, or a change."""
    if isinstance(expected, bool) and isinstance(got, bool):
        return [f"{INDENT}{name.strip()}?  expected {argument(expected)[0]}, got {argument(got)[0]}"]
    if isinstance(expected, Tensor) and isinstance(got, Tensor):
        if expected.shape != got.shape:
            return labelled(f"expected{name}", argument(expected, True)) + labelled(f"got{name}", argument(got, True))
        place, expected, got = first_differing_matrix(expected, got, tolerance)
        name = f"{name}{place}"
    if isinstance(expected, Change) and isinstance(got, Change):
        return [f"{INDENT}{name.strip()}: should {'change' if expected.visible else 'stay as it is'}, {got}"]
    if isinstance(got, Raised):
        return labelled(f"expected{name}", argument(expected)) + difference_got(got)
    return labelled(f"expected{name}", argument(expected)) + labelled(f"got{name}", argument(got))


def first_differing_matrix(expected: Tensor, got: Tensor, tolerance: float) -> tuple[str, Tensor, Tensor]:
    """The first (rows, columns) slice of a larger tensor in which the two differ, and its place in words."""
    leading = expected.shape[:-2]
    if leading.numel() <= 1:
        return "", expected, got
    for place in product(*map(range, leading)):
        if not agree(expected[place], got[place], tolerance):
            break
    return f"[{', '.join(map(str, place))}]", expected[place], got[place]


def raised(finding: Raised) -> list[str]:
    """The exception, and the last line of the reader's own code that led to it."""
    library = (str(Path(torch.__file__).parents[1]), str(Path(__file__).parents[4]))  # site-packages, and this package
    own = [f for f in traceback.extract_tb(finding.error.__traceback__) if not f.filename.startswith(library)]
    where = [f"in {own[-1].name}, line {own[-1].lineno}: {own[-1].line}"] if own and own[-1].line else []
    return [*str(finding).splitlines()[:3], *where]


def labelled(label: str, lines: list[str]) -> list[str]:
    """A short value beside its label, a long one below it."""
    if len(lines) == 1:
        return [f"{INDENT}{label} = {lines[0]}"]
    return [f"{INDENT}{label} ="] + [f"{INDENT}{INDENT}{line}" for line in lines]


def argument(value: Any, always_shape: bool = False) -> list[str]:
    """A value as a reader wants to see it: small tensors as numbers, large ones as their shape."""
    if not isinstance(value, Tensor):
        return [{True: "yes", False: "no"}[value] if isinstance(value, bool) else plain(value)]
    shape = f"(shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')})"
    if value.numel() > LARGEST_SHOWN or value.dim() == 0:
        return [shape] if value.dim() else [number(value)]
    rows = matrix(value)
    stacked = value.dim() > 2 and value.shape[:-2].numel() > 1  # rows of several matrices, one under another
    return [f"{rows[0]}  {shape}", *rows[1:]] if always_shape or stacked else rows


def plain(value: Any) -> str:
    """A number with at most six digits, a configuration by what is not its default; the rest as Python writes it."""
    if is_dataclass(value) and not isinstance(value, Change):
        kept = {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != f.default}
        return f"{type(value).__name__}({', '.join(f'{name}={entry!r}' for name, entry in kept.items())})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def matrix(value: Tensor) -> list[str]:
    """The rows of a small tensor, columns aligned; a boolean is written 1 or 0."""
    table = value.reshape(-1, value.shape[-1]) if value.numel() else value.reshape(0, 1)
    cells = [[number(entry) for entry in row] for row in table]
    width = max((len(cell) for row in cells for cell in row), default=0)
    return ["[" + "  ".join(cell.rjust(width) for cell in row) + "]" for row in cells] or ["(empty)"]


def number(entry: Tensor) -> str:
    """One entry with at most four digits after the point."""
    if not entry.is_floating_point():
        return str(int(entry))
    value = round(float(entry), 4) + 0.0  # + 0.0 turns -0 into 0
    return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.4g}"
