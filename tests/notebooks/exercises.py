"""Which exercises have a check of `transformer_edu.checks`: counted, for what the front pages say of them."""

import ast
import re
from collections.abc import Iterable
from typing import Any

from transformer_edu import checks

OPENS = re.compile(r"^:{3,}\{(exercise|solution)-start\} *(.*?)$(?:\n:label: *(\S+))?", re.M)
CLOSES = re.compile(r"^:{3,}\{(?:exercise|solution)-end\}", re.M)


def exercises(notebook: Any) -> dict[str, list[str]]:
    """The label of each exercise, with its code cells: those it starts from, and those of its solution."""
    found: dict[str, list[str]] = {}
    label = ""
    for cell in notebook.cells:
        if cell.cell_type == "code" and label:
            found[label].append(cell.source)
        for mark in re.finditer(f"{OPENS.pattern}|{CLOSES.pattern}", cell.source, re.M):
            label = (mark[3] or mark[2]) if mark[1] else ""
            if label:
                found.setdefault(label, [])
    return found


def calls_a_check(source: str) -> bool:
    """Whether a cell calls a check, in code or in a line that a reader is to uncomment."""
    code = re.sub(r"^# ?(?=checks\.)", "", source, flags=re.M)
    calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)}
    return any(call == f"checks.{name}" for call in calls for name in checks.__all__ if name.startswith("check_"))


def with_a_check(notebooks: Iterable[Any]) -> tuple[int, int]:
    """How many exercises of these chapters have a check in their starting cell or solution, and how many there are."""
    every = [cells for notebook in notebooks for cells in exercises(notebook).values()]
    return sum(any(map(calls_a_check, cells)) for cells in every), len(every)
