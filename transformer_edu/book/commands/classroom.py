"""`transformer-edu classroom`: make a term's problem sets, and grade what is handed in.

The classroom is imported when it is asked for: what reads notebooks takes two seconds to import, and every command
of the program starts here.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from transformer_edu.support.files import write_atomically
from transformer_edu.support.output import reader_may_leave, say

ASSIGNMENTS = Path("assignments")


def add_parser(commands: Any) -> None:
    """Add the command, with its own commands `make`, `grade` and `gradescope`."""
    parser = commands.add_parser("classroom", help="make problem sets for a class, and grade them")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    make = actions.add_parser("make", help="make a term: notebooks to hand out, and what only the teacher has")
    make.add_argument(
        "folder", type=Path, metavar="TERM", help="the term's folder; keep its folder private/ to yourself"
    )
    make.add_argument("--name", help="as it stands in the notebooks (default: the folder's name)")
    make.add_argument(
        "--repository", default="", metavar="URL", help="where students on Colab install the package from"
    )
    make.set_defaults(run=run_make)
    grade = actions.add_parser("grade", help="grade a folder of notebooks (needs otter-grader)")
    grade.add_argument(
        "submissions", type=Path, metavar="SUBMISSIONS", help="a folder with one .ipynb for each student"
    )
    grade.add_argument("--term", type=Path, required=True, help="the folder that `make` has made")
    grade.add_argument("--set", type=int, required=True, dest="number", metavar="N", help="which problem set")
    grade.add_argument("--out", type=Path, required=True, help="for grades.csv, results/ and feedback/")
    grade.add_argument("--jobs", type=int, default=2, help="how many to grade side by side (2)")
    grade.add_argument("--gradescope", type=Path, metavar="FILE", help="write the one submission's results for it")
    grade.set_defaults(run=run_grade)
    package = actions.add_parser("gradescope", help="make the autograder of a set for Gradescope, a zip")
    package.add_argument("--term", type=Path, required=True, help="the folder that `make` has made")
    package.add_argument("--set", type=int, required=True, dest="number", metavar="N", help="which problem set")
    package.add_argument("--wheel", type=Path, required=True, help="this package as `pip wheel --no-deps .` makes it")
    package.add_argument("--out", type=Path, required=True, metavar="ZIP", help="the file to write")
    package.set_defaults(run=run_gradescope)
    for command in (make, grade, package):
        command.add_argument(
            "--assignments", type=Path, default=ASSIGNMENTS, help="the folder of the problem sets (assignments)"
        )


def run_make(options: argparse.Namespace) -> None:
    """Make a term's folder."""
    from transformer_edu.book.exercises.classroom import term

    if options.repository and not re.fullmatch(r"https://[^\s\"\\]+", options.repository):
        raise ValueError(f"--repository must be like https://HOST/OWNER/NAME, got {options.repository!r}")
    sources = term.load_sets(options.assignments)
    term.make(options.folder, sources, options.name or options.folder.resolve().name, options.repository)
    say(f"to hand out: {options.folder / 'public'}")
    say(f"only for you: {options.folder / 'private'} (keep its key: without it nothing can be graded)")


def run_grade(options: argparse.Namespace) -> None:
    """Grade a folder of notebooks."""
    from transformer_edu.book.exercises.classroom import batch, gradescope, term

    if options.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {options.jobs}")
    try:
        import otter.test_files  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError("grading needs otter-grader, in an environment of its own: see book/teaching.md") from None
    if options.gradescope and len(list(options.submissions.glob("*.ipynb"))) != 1:
        raise ValueError(f"--gradescope is for one notebook, and {options.submissions} has not just one")
    material = term.material(options.term, term.load_sets(options.assignments), options.number)
    results = batch.grade_folder(material, options.submissions, options.out, options.jobs)
    for sentence in dict.fromkeys(text for result in results for text in result["unprotected"]):
        say(f"not protected here: {sentence}")
    remarked: dict[str, list[str]] = {}
    for result in results:
        kind, _, why = result["remark"].partition(": ")
        remarked.setdefault(kind, []).append(f"{result['file']} ({why})")
    for kind, found in remarked.items():
        if kind:
            say(f"{kind}: {len(found)} notebooks, such as {found[0]}")
    if options.gradescope:
        write_atomically(options.gradescope, json.dumps(gradescope.results(results[0])).encode())
    for sentence in batch.left_out(options.submissions):
        say(sentence)
    with reader_may_leave():
        print(f"{len(results)} graded: {options.out / 'grades.csv'}", flush=True)


def run_gradescope(options: argparse.Namespace) -> None:
    """Make the zip for Gradescope."""
    from transformer_edu.book.exercises.classroom import gradescope, term

    term.material(options.term, term.load_sets(options.assignments), options.number)  # refuses what does not fit
    gradescope.write_autograder(options.out, options.term, options.assignments, options.number, options.wheel)
    say(f"to upload: {options.out}. It holds the term's key: do not hand it out")
