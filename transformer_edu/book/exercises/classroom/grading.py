"""Grade one submission: run it apart, compare what it did with the right answers, and let otter-grader count.

The right answers never enter the process that runs a submission, and the submission never enters this one.
"""

import json
import re
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from transformer_edu.book.exercises.classroom.comparing import difference
from transformer_edu.book.exercises.classroom.diagnosing import diagnosis
from transformer_edu.book.exercises.classroom.drawing import Drawn
from transformer_edu.book.exercises.classroom.observing import THERE_ALREADY, Observed, from_plain, plain
from transformer_edu.book.exercises.classroom.problems import EXAMPLES, Mistake
from transformer_edu.book.sandbox.sandbox import Limits, Outcome
from transformer_edu.book.sandbox.sandbox import run as run_apart
from transformer_edu.support.text import printable

WORKER = "transformer_edu.book.exercises.classroom.worker"
SECONDS = 8.0  # for a cell, and for all calls of a function
ATTEMPTS = 20  # how often what ends the process is left out, and the rest run again, as long as there is time
LIMITS = Limits(seconds=240.0, memory=2 << 30, output=16 << 20)
HANDOUT = re.compile(r"^# (problem set \d+, .+)$", re.MULTILINE)
TIMEOUT = "Timeout ("  # says the process that ends itself because something could not be interrupted
MARK = re.compile("\x1f(cell|problem) ([^\x1f]*)\x1f")

ERROR = "it stops with"  # so begins what an exception of a student's code says
NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?\d[\w.+-]*")
UNWRITTEN = "nothing was written"  # what is said, in place of a known mistake, of an answer that loses points
BORROWED = f"it calls what it is to build, {THERE_ALREADY}"
STOPPED = "it stops with an error, takes too long, or is not there"
UNKNOWN = "none of the known ones"

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
                "never": drawn.problem.never,
                "cases": {group: [plain(list(case)) for case in cases] for group, cases in drawn.cases.items()},
            }
            for drawn in self.problems
        ]


@dataclass(frozen=True)
class Graded:
    """The points of a submission, problem by problem, and what is said about them."""

    points: float
    possible: float
    problems: dict[str, dict[str, Any]]  # points, possible, for each group whether it passed, and the known mistakes
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
                if found and group != EXAMPLES and found.startswith(ERROR):
                    found = NUMBER.sub("…", found)  # an error may tell the arguments of hidden tests
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
            "passed": {result.test_case.name: result.passed for result in file.test_case_results},
        }
        for file in files
    }
    named = mistakes_in(material, ran, problems)
    for name, found in problems.items():
        lost = found["points"] < found["possible"]
        known = [mistake.name for mistake in named.get(name, ())] or [_otherwise(ran.answers.get(name, {}))]
        found["mistakes"] = known if lost else []
    feedback = feedback_on(material, marks, ran, problems, named)
    return Graded(results.total, results.possible, problems, feedback, ran.unprotected, other)


def other_handout(cells: list[str], material: Material) -> str:
    """What a notebook says that it is, if it says so and is not what is graded; else nothing."""
    said = [found[1] for cell in cells if (found := HANDOUT.search(cell))]
    return printable(said[0], 80) if said and material.handout not in said else ""


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
    until = time.monotonic() + 2 * limits.seconds
    for attempt in range(1, ATTEMPTS + 1):
        order |= {"skip_cells": sorted(map(int, ended["cell"])), "skip_problems": list(ended["problem"])}
        outcome = run_apart(WORKER, json.dumps(order).encode(), limits)
        what, name, trouble = _ending(outcome, ran, material)
        if trouble is None:
            break
        if name is None or name in ended[what] or (what == "cell" and not name.isdigit()):
            ran.notes.append(f"The notebook could not be run: {_code(trouble)}.")
            break
        ended[what][name] = trouble
        if attempt == ATTEMPTS or time.monotonic() > until:
            ran.notes.insert(0, "Nothing could be graded: too many cells or functions end the process that runs them.")
            break
    for number, trouble in ended["cell"].items():
        ran.notes.append(f"Code cell {number} was left out: {_code(f'it {trouble}')}.")
    for drawn in material.problems:
        trouble = ended["problem"].get(drawn.name)
        if trouble:
            ran.answers[drawn.name] = {
                group: [{"error": f"it {trouble}"}] * len(all_) for group, all_ in drawn.cases.items()
            }
    return ran


def _ending(outcome: Outcome, ran: Ran, material: Material) -> tuple[str, str | None, str | None]:
    """What ran last, a cell or a problem, its name, and what is wrong with it; no trouble if all could be read."""
    trouble = outcome.trouble and printable(outcome.trouble)
    if outcome.answer is not None:
        trouble = _read(outcome, ran, material)
    marks = list(MARK.finditer(outcome.printed))
    if not marks:
        return "cell", None, trouble
    if trouble and TIMEOUT in outcome.printed[marks[-1].end() :]:
        trouble = f"takes more than {SECONDS:g} s: an endless loop?"
    return marks[-1][1], marks[-1][2], trouble


def _read(outcome: Outcome, ran: Ran, material: Material) -> str | None:
    """Take what the process tells, which foreign code may have written: nothing of it is trusted but as a claim."""
    try:
        told = json.loads(outcome.answer or b"")
        ran.unprotected = tuple(printable(str(sentence)) for sentence in told["unprotected"])
        for cell in told["cells"]:
            ran.notes.append(f"Code cell {int(cell['cell'])}: {_code(str(cell['error']))}")
        for name, times in told["defined"].items():
            if name in material.wanted and int(times) > 1:
                ran.notes.append(f"`{name}` is defined {int(times)} times; the last one counts.")
        for name, groups in told["answers"].items():
            ran.answers[str(name)] = {str(group): [_checked(case) for case in seen] for group, seen in groups.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "what its process answered cannot be read"
    return None


def _checked(seen: Any) -> Observed:
    """An observation that has the form of one; anything else counts as an error."""
    try:
        if "error" in seen:
            return {"error": printable(str(seen["error"]), 300)}
        return {
            "output": plain(from_plain(seen["output"])),
            "gradients": [plain(from_plain(gradient)) for gradient in seen.get("gradients", [])],
            "changed": bool(seen["changed"]),
        }
    except (ValueError, KeyError, TypeError, RuntimeError, OverflowError, RecursionError):
        return {"error": "its answer cannot be read"}


def _first_difference(wanted: list[Observed], seen: list[Observed]) -> str | None:
    if len(seen) != len(wanted):
        return "it did not run"
    found = (difference(*pair) for pair in zip(wanted, seen, strict=True))
    return next((text for text in found if text), None)


def _otherwise(seen: Seen) -> str:
    """What is to be said of an answer that does what no known mistake does."""
    all_ = [case for cases in seen.values() for case in cases]
    errors = [case["error"] for case in all_ if "error" in case]
    if errors or not all_:
        return BORROWED if any(THERE_ALREADY in error for error in errors) else STOPPED
    return UNWRITTEN if all(case.get("output") is None for case in all_) else UNKNOWN


def mistakes_in(material: Material, ran: Ran, problems: dict[str, dict[str, Any]]) -> dict[str, tuple[Mistake, ...]]:
    """The known mistakes, in the problem's own words, by the names of the problems that lost points by them."""
    found = {}
    for drawn in material.problems:
        seen = ran.answers.get(drawn.name)
        lost = problems[drawn.name]["points"] < problems[drawn.name]["possible"]
        mistakes = diagnosis(drawn, seen) if seen and lost else ()
        if mistakes:
            found[drawn.name] = tuple(
                replace(bug, name=drawn.fill(bug.name), why=drawn.fill(bug.why), hint=drawn.fill(bug.hint))
                for bug in mistakes
            )
    return found


def feedback_on(
    material: Material,
    marks: Marks,
    ran: Ran,
    problems: dict[str, dict[str, Any]],
    named: dict[str, tuple[Mistake, ...]],
) -> str:
    """What a student is told, as Markdown."""
    total, possible = (sum(problem[key] for problem in problems.values()) for key in ("points", "possible"))
    notes = ran.notes
    told = {drawn.name: _otherwise(ran.answers.get(drawn.name, {})) for drawn in material.problems}
    if set(told.values()) == {UNWRITTEN}:
        notes = [*notes, "Nothing was written: every function returns nothing (None)."]
    lines = [f"# {total:g} of {possible:g} points", "", *(f"- {note}" for note in notes)]
    for drawn in material.problems if notes is ran.notes else ():
        found = problems[drawn.name]
        lines += ["", f"## {drawn.problem.title}: {found['points']:g} of {found['possible']:g}", ""]
        if told[drawn.name] == UNWRITTEN:
            lines.append("- Nothing was written here: it returns nothing (None).")
            continue
        for group, points in drawn.problem.points.items():
            wrong = marks.wrong.get((drawn.name, group))
            lines.append(f"- {'✗' if wrong else '✓'} {group} ({points}){': ' + _code(wrong) if wrong else ''}")
        if found["points"] < found["possible"]:
            lines += _about(named.get(drawn.name, ()), told[drawn.name])
    return "\n".join(lines).rstrip() + "\n"


def _about(mistakes: tuple[Mistake, ...], otherwise: str) -> list[str]:
    """What is said of a wrong answer, beside which tests it failed."""
    if not mistakes:
        several = "No common mistake does exactly this, nor do two together: there may be several in your function."
        small = "Begin with the smallest example that you can reckon by hand, and compare each line's result."
        return ["", f"{several} {small}"] if otherwise == UNKNOWN else []
    does = "this mistake does" if len(mistakes) == 1 else "these two mistakes do together"
    names = ", and ".join(mistake.name for mistake in mistakes)
    lines = ["", f"**Your function does what {does}: {names}.** {' '.join(mistake.why for mistake in mistakes)}"]
    for mistake in mistakes:
        lines += ["", f"*Hint:* {mistake.hint}"]
    return lines


def _code(text: str) -> str:
    """Text of a student as code, so that no part of it is read as Markdown or HTML."""
    clean = " ".join(printable(text).replace("`", "'").split())
    return f"`{clean}`" if clean else ""
