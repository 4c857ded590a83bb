"""Grade one submission: run it apart, compare what it did with the right answers, and let otter-grader count.

The right answers never enter the process that runs a submission, and the submission never enters this one.
"""

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from transformer_edu.classroom.comparing import difference
from transformer_edu.classroom.diagnosing import diagnosis
from transformer_edu.classroom.drawing import Drawn
from transformer_edu.classroom.observing import Observed, from_plain, plain
from transformer_edu.classroom.problems import EXAMPLES, Mistake
from transformer_edu.judge.sandbox import Limits, Outcome
from transformer_edu.judge.sandbox import run as run_apart

WORKER = "transformer_edu.classroom.worker"
SECONDS = 8.0  # for a cell, and for all calls of a function
ATTEMPTS = 6  # how often what ends the process is left out, and the rest run again
LIMITS = Limits(seconds=240.0, memory=2 << 30, output=16 << 20)
HANDOUT = re.compile(r"^# (problem set \d+, .+)$", re.MULTILINE)
MARK = re.compile("\x1f(cell|problem) ([^\x1f]*)\x1f")

Seen = dict[str, list[Observed]]  # by group of cases


class Material:
    """What a set is graded with: its problems as the term has them, and the right answers."""

    def __init__(self, problems: list[Drawn], tests: Path, handout: str):
        self.problems = problems
        self.tests = tests
        self.handout = handout

    @cached_property
    def wanted(self) -> dict[str, Seen]:
        """What the solutions do, by problem and group."""
        return {drawn.name: drawn.wanted for drawn in self.problems}

    @cached_property
    def orders(self) -> list[dict[str, Any]]:
        """What the process that runs submissions is told: names and arguments."""
        return [
            {
                "name": drawn.name,
                "gradient": drawn.problem.gradient,
                "cases": {group: [plain(list(one)) for one in cases] for group, cases in drawn.cases.items()},
            }
            for drawn in self.problems
        ]


@dataclass(frozen=True)
class Graded:
    """The points of a submission, problem by problem, and what is said about them."""

    points: float
    possible: float
    problems: dict[str, dict[str, Any]]  # points, possible, for each group whether it passed, and the known mistake
    feedback: str  # Markdown
    unprotected: tuple[str, ...]
    other: str = ""  # the set and term that the notebook belongs to, if these are others


@dataclass
class Ran:
    """What became of the cells and functions of a submission."""

    answers: dict[str, Seen] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unprotected: tuple[str, ...] = ()


class Marks:
    """What otter's tests ask: did this group of cases pass?"""

    def __init__(self, material: Material, answers: dict[str, Seen]):
        self.wrong: dict[tuple[str, str], str] = {}
        for name, groups in material.wanted.items():
            for group, wanted in groups.items():
                found = _first_difference(wanted, answers.get(name, {}).get(group, []))
                if found:
                    self.wrong[name, group] = found

    def need(self, name: str, group: str) -> None:
        """Raise AssertionError, with what is wrong, unless all cases of the group are right."""
        if (name, group) in self.wrong:
            raise AssertionError(self.wrong[name, group])


def grade(cells: list[str], material: Material, limits: Limits = LIMITS) -> Graded:
    """Grade the code cells of a notebook.

    Raises:
        ModuleNotFoundError: otter-grader is not installed here.
    """
    from otter.test_files import GradingResults  # only in the teacher's environment

    ran = run_cells(cells, material, limits)
    other = other_handout(cells, material)
    if other:
        ran.notes.insert(0, f"This is the notebook of another set or term: {_code(other)}, not {material.handout}.")
    marks = Marks(material, ran.answers)
    files = [_otter_file(material.tests / f"{drawn.name}.py") for drawn in material.problems]
    for file in files:
        file.run({"marks": marks})
    results = GradingResults(files)
    problems = {
        file.name: {
            "points": file.score,
            "possible": file.possible,
            "passed": {one.test_case.name: one.passed for one in file.test_case_results},
        }
        for file in files
    }
    named = mistakes_in(material, ran, problems)
    for name, found in problems.items():
        found["mistake"] = named[name].name if name in named else None
    feedback = feedback_on(material, marks, ran, problems, named)
    return Graded(results.total, results.possible, problems, feedback, ran.unprotected, other)


def other_handout(cells: list[str], material: Material) -> str:
    """What a notebook says that it is, if it says so and is not what is graded; else nothing."""
    said = [found[1] for cell in cells if (found := HANDOUT.search(cell))]
    return said[0][:80] if said and material.handout not in said else ""


def test_file(drawn: Drawn) -> str:
    """The tests of a problem in otter's format of exceptions; what they compare is decided by `Marks`."""
    parts = ["from otter.test_files import test_case", f"OK_FORMAT = False\nname = {drawn.name!r}\npoints = None"]
    for number, (group, points) in enumerate(drawn.problem.points.items()):
        parts.append(
            f"@test_case(name={group!r}, points={points}, hidden={group != EXAMPLES})\n"
            f"def test_{number}(marks):\n    marks.need({drawn.name!r}, {group!r})"
        )
    return "\n\n\n".join(parts) + "\n"


def _otter_file(path: Path) -> Any:
    from otter.test_files.exception_test import ExceptionTestFile

    return ExceptionTestFile.from_file(str(path))


def run_cells(cells: list[str], material: Material, limits: Limits = LIMITS) -> Ran:
    """Run a submission apart. What ends the process is left out, and everything else run again."""
    ran = Ran()
    order: dict[str, Any] = {"cells": cells, "problems": material.orders, "seconds": SECONDS}
    ended: dict[str, dict[str, str]] = {"cell": {}, "problem": {}}
    for _ in range(ATTEMPTS):
        order |= {"skip_cells": sorted(map(int, ended["cell"])), "skip_problems": list(ended["problem"])}
        outcome = run_apart(WORKER, json.dumps(order).encode(), limits)
        trouble = outcome.trouble
        if outcome.answer is not None:
            trouble = _read(outcome, ran, material)
        if trouble is None:
            break
        what, name = _last_mark(outcome)
        if name is None or name in ended[what] or (what == "cell" and not name.isdigit()):
            ran.notes.append(f"The notebook could not be run: {trouble}.")
            break
        ended[what][name] = trouble
    for number, trouble in ended["cell"].items():
        ran.notes.append(f"Code cell {number} was left out: it {trouble}.")
    for drawn in material.problems:
        trouble = ended["problem"].get(drawn.name)
        if trouble:
            ran.answers[drawn.name] = {
                group: [{"error": f"it {trouble}"}] * len(all_) for group, all_ in drawn.cases.items()
            }
    return ran


def _last_mark(outcome: Outcome) -> tuple[str, str | None]:
    marks = MARK.findall(outcome.printed)
    return marks[-1] if marks else ("cell", None)


def _read(outcome: Outcome, ran: Ran, material: Material) -> str | None:
    """Take what the process tells, which foreign code may have written: nothing of it is trusted but as a claim."""
    try:
        told = json.loads(outcome.answer or b"")
        ran.unprotected = tuple(str(one) for one in told["unprotected"])
        for one in told["cells"]:
            ran.notes.append(f"Code cell {int(one['cell'])}: {_code(str(one['error']))}")
        for name, times in told["defined"].items():
            if name in material.wanted and int(times) > 1:
                ran.notes.append(f"`{name}` is defined {int(times)} times; the last one counts.")
        for name, groups in told["answers"].items():
            ran.answers[str(name)] = {str(group): [_checked(one) for one in seen] for group, seen in groups.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "what its process answered cannot be read"
    return None


def _checked(seen: Any) -> Observed:
    """An observation that has the form of one; anything else counts as an error."""
    try:
        if "error" in seen:
            return {"error": str(seen["error"])[:300]}
        return {
            "output": plain(from_plain(seen["output"])),
            "gradients": [plain(from_plain(one)) for one in seen.get("gradients", [])],
            "changed": bool(seen["changed"]),
        }
    except (ValueError, KeyError, TypeError, RuntimeError, OverflowError, RecursionError):
        return {"error": "its answer cannot be read"}


def _first_difference(wanted: list[Observed], seen: list[Observed]) -> str | None:
    if len(seen) != len(wanted):
        return "it did not run"
    found = (difference(*pair) for pair in zip(wanted, seen, strict=True))
    return next((one for one in found if one), None)


def mistakes_in(material: Material, ran: Ran, problems: dict[str, dict[str, Any]]) -> dict[str, Mistake]:
    """The known mistakes, in the problem's own words, by the names of the problems that lost points by one."""
    found = {}
    for drawn in material.problems:
        seen = ran.answers.get(drawn.name)
        lost = problems[drawn.name]["points"] < problems[drawn.name]["possible"]
        mistake = diagnosis(drawn, seen) if seen and lost else None
        if mistake:
            name, why, hint = map(drawn.fill, (mistake.name, mistake.why, mistake.hint))
            found[drawn.name] = replace(mistake, name=name, why=why, hint=hint)
    return found


def feedback_on(
    material: Material,
    marks: Marks,
    ran: Ran,
    problems: dict[str, dict[str, Any]],
    named: dict[str, Mistake],
) -> str:
    """What a student is told, as Markdown."""
    total, possible = (sum(one[key] for one in problems.values()) for key in ("points", "possible"))
    lines = [f"# {total:g} of {possible:g} points", "", *(f"- {note}" for note in ran.notes)]
    for drawn in material.problems:
        found = problems[drawn.name]
        lines += ["", f"## {drawn.problem.title}: {found['points']:g} of {found['possible']:g}", ""]
        for group, points in drawn.problem.points.items():
            wrong = marks.wrong.get((drawn.name, group))
            lines.append(f"- {'✗' if wrong else '✓'} {group} ({points}){': ' + _code(wrong) if wrong else ''}")
        if mistake := named.get(drawn.name):
            lines += ["", f"**Your function does what this mistake does: {mistake.name}.** {mistake.why}"]
            lines += ["", f"*Hint:* {mistake.hint}"]
    return "\n".join(lines).rstrip() + "\n"


def _code(text: str) -> str:
    """Text of a student as code, so that no part of it is read as Markdown or HTML."""
    clean = " ".join(text.replace("`", "'").split())
    return f"`{clean}`" if clean else ""
