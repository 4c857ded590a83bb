"""Make all problem sets for a new term, grade submissions whose points are known, and compare (`make classroom`).

    python tools/classroom.py                    every set; prints a table; exit status 1 if a point is wrong
    python tools/classroom.py --set 2 --many 60  one set, its fixtures repeated until there are so many
    python tools/classroom.py --practice         write the notebooks that everybody may have: assignments/set-*.ipynb

It runs in an environment with otter-grader; only the last works without.
"""

import argparse
import itertools
import sys
import tempfile
import time
from pathlib import Path

from transformer_edu.book.exercises.classroom import term
from transformer_edu.book.exercises.classroom.batch import grade_folder
from transformer_edu.book.exercises.classroom.drawing import draw
from transformer_edu.book.exercises.classroom.fixtures import fixtures
from transformer_edu.book.exercises.classroom.notebooks import student_notebook, written
from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENTS = ROOT / "assignments"


def practice(sources: list[term.Source]) -> dict[Path, bytes]:
    """The practice notebooks: drawn with a key that everybody knows, and not graded."""
    found = {}
    for source in sources:
        notebook = student_notebook(source.problems, draw(source.problems, term.PRACTICE), "for practice")
        found[ASSIGNMENTS / f"{source.problems.name}.ipynb"] = written(notebook)
    return found


def grade_fixtures(folder: Path, sources: list[term.Source], number: int, many: int = 0) -> list[str]:
    """Grade the fixtures of a set, at least `many` submissions; returns a line for each wrong point."""
    material = term.material(folder, sources, number)
    source = next(problem_set for problem_set in sources if problem_set.problems.number == number)
    made = list(fixtures(source.problems, material.problems))
    submissions, wanted = folder / f"submissions-{number}", {}
    repeated = itertools.islice(itertools.cycle(made), max(many, len(made)))
    for place, fixture in enumerate(repeated):
        file = f"{place:03}-{fixture.name}.ipynb"
        write_atomically(submissions / file, written(fixture.notebook))
        wanted[file] = fixture.points
    start = time.perf_counter()
    results = grade_folder(material, submissions, folder / f"graded-{number}")
    wrong = [
        f"set {number}, {result['file']}, {name}: {points['points']:g} points, {wanted[result['file']][name]} are right"
        for result in results
        for name, points in result["problems"].items()
        if points["points"] != wanted[result["file"]][name]
    ]
    wrong += [f"set {number}, {result['file']}: not graded" for result in results if not result["problems"]]
    seconds = time.perf_counter() - start
    print(f"set {number}: {len(results)} submissions in {seconds:.0f} s, {len(wrong)} wrong points", flush=True)
    return wrong


def main() -> None:
    """Do what the options say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=int, dest="number", help="only this set")
    parser.add_argument("--many", type=int, default=0, help="at least so many submissions")
    parser.add_argument("--practice", action="store_true", help="write the practice notebooks, and nothing else")
    options = parser.parse_args()
    sources = term.load_sets(ASSIGNMENTS)
    if options.practice:
        for file, content in practice(sources).items():
            write_atomically(file, content)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "term"
        term.make(folder, sources, "fixtures")
        numbers = [options.number] if options.number else [source.problems.number for source in sources]
        wrong = [line for number in numbers for line in grade_fixtures(folder, sources, number, options.many)]
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
