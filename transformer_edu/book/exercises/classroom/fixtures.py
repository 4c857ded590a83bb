"""Submissions whose points are known beforehand: perfect, blank, each common mistake, and what happens in classes."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from transformer_edu.book.exercises.classroom.drawing import Drawn
from transformer_edu.book.exercises.classroom.notebooks import solution_notebook, student_notebook
from transformer_edu.book.exercises.classroom.problems import ProblemSet

ENDLESS = "    while True:\n        pass"
ALLOCATES = "    return torch.ones(1 << 30).sum()  # 4 GB"
LEAVES = "    import os\n\n    os._exit(0)"
OVERWRITES = """import sys
from pathlib import Path

import transformer_edu.book.exercises.classroom as classroom

classroom.Examples.check = examples.check = lambda *_: print("✓")
torch.equal = torch.allclose = lambda *_, **__: True
math.isclose = lambda *_, **__: True
for name in list(sys.modules):
    if "classroom" in name or "otter" in name:
        sys.modules[name].grade = sys.modules[name].difference = lambda *_, **__: None
for place in (Path.home(), Path("/tmp"), Path(torch.__file__).parent):
    try:
        (place / "results.json").write_text('{"points": 100}')
    except OSError:
        pass


class Right:
    def __eq__(self, other):
        return True

    def __getattr__(self, name):
        return self


def overwritten(*_, **__):
    return Right()
"""


@dataclass(frozen=True)
class Fixture:
    """A submission, and the points of each of its problems."""

    name: str
    notebook: NotebookNode
    points: dict[str, int]


def fixtures(problems: ProblemSet, drawn: list[Drawn]) -> Iterator[Fixture]:
    """All fixtures of a set in one term."""
    full = {task.name: task.problem.possible for task in drawn}
    none = dict.fromkeys(full, 0)
    first, last = drawn[0].name, drawn[-1].name
    blank = student_notebook(problems, drawn, "fixture")
    perfect = solution_notebook(problems, drawn, "fixture")
    yield Fixture("perfect", perfect, full)
    yield Fixture("blank", blank, none)
    for task in drawn:
        for number, mistake in enumerate(task.problem.mistakes, start=1):
            wrong = _with_answer(perfect, task.name, task.with_mistake(mistake))
            yield Fixture(f"mistake-{task.name}-{number}", wrong, {**full, task.name: task.problem.kept(mistake)})
    syntax_error = _with_answer(perfect, first, f"{drawn[0].solution}\n    return ((")
    yield Fixture("syntax-error", syntax_error, {**full, first: 0})
    yield Fixture("endless-loop", _with_body(perfect, last, ENDLESS), {**full, last: 0})
    yield Fixture("endless-loop-in-a-cell", _with_cell(perfect, "while True:\n    pass"), full)
    yield Fixture("4-gb", _with_body(perfect, last, ALLOCATES), {**full, last: 0})
    yield Fixture("ends-the-process", _with_body(perfect, first, LEAVES), {**full, first: 0})
    yield Fixture("ends-the-process-in-a-cell", _with_cell(perfect, "import os\n\nos._exit(0)"), full)
    yield Fixture("cells-reordered", _reordered(perfect), full)
    yield Fixture("metadata-stripped", _stripped(perfect), full)
    yield Fixture("pasted-twice", _pasted_twice(perfect, first), full)
    names = "\n".join(f"{task.name} = overwritten" for task in drawn)
    yield Fixture("overwrites-the-checks", _with_cell(blank, f"{OVERWRITES}\n\n{names}"), none)


def _with_answer(notebook: NotebookNode, name: str, code: str) -> NotebookNode:
    """A copy in which the answer of a problem is another."""
    found = copy.deepcopy(notebook)
    _answer(found, name).source = code
    return found


def _answer(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == f"{name.replace('_', '-')}-answer")


def _with_body(notebook: NotebookNode, name: str, body: str) -> NotebookNode:
    """A copy in which a function does something else."""
    code = _answer(notebook, name).source
    head = re.split(r'(?<=""")\n', code, maxsplit=1)[0]
    return _with_answer(notebook, name, f"{head}\n{body}")


def _with_cell(notebook: NotebookNode, code: str) -> NotebookNode:
    """A copy with one more cell in the end."""
    found = copy.deepcopy(notebook)
    found.cells.append(new_code_cell(code, id="more"))
    return found


def _reordered(notebook: NotebookNode) -> NotebookNode:
    found = copy.deepcopy(notebook)
    found.cells.reverse()
    return found


def _stripped(notebook: NotebookNode) -> NotebookNode:
    found = copy.deepcopy(notebook)
    found.metadata, found.nbformat_minor = NotebookNode(), 4
    for cell in found.cells:
        cell.metadata = NotebookNode()
        del cell["id"]
    return found


def _pasted_twice(notebook: NotebookNode, name: str) -> NotebookNode:
    found = copy.deepcopy(notebook)
    found.cells.append(new_code_cell(_answer(found, name).source, id="again"))
    return found
