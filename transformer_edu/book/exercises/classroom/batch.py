"""Grade a folder of submissions: side by side, with progress, and to be interrupted and started again at any moment."""

import csv
import hashlib
import io
import json
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, fields
from html import escape
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from tqdm.auto import tqdm

from transformer_edu.book.exercises.classroom.grading import Graded, Material, grade
from transformer_edu.book.exercises.classroom.submission import code_cells, content
from transformer_edu.support.files import write_atomically
from transformer_edu.support.text import printable

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ max-width: 45rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif }}
</style>
</head>
<body><main>
{body}</main></body>
</html>
"""
SHOWN = 20  # names of files in a sentence
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet takes a cell for a formula


def grade_folder(material: Material, submissions: Path, out: Path, jobs: int = 2) -> list[dict[str, Any]]:
    """Grade every notebook of a folder; writes `grades.csv`, `mistakes.csv`, and for each one a result and feedback.

    A submission that has a result already, for the same file and the same tests, is not graded again.

    Returns:
        The results, in the order of the files' names.

    Raises:
        ValueError: there are no notebooks, `out` lies among them, or it holds the grades of another set or term.
        RuntimeError: another process grades into this folder.
    """
    files = sorted(submissions.glob("*.ipynb"))
    if not files:
        others = "".join(f"; {sentence}" for sentence in left_out(submissions))
        raise ValueError(
            f"SUBMISSIONS must be a folder with .ipynb files, got {str(submissions)!r}, which has none{others}"
        )
    if out.resolve() == submissions.resolve():
        raise ValueError("--out must be another folder than SUBMISSIONS")
    out.mkdir(parents=True, exist_ok=True)
    if not any(out.iterdir()):
        write_atomically(out / ".gitignore", b"*\n")  # students' grades are nobody else's
    try:
        with FileLock(out / ".lock", timeout=0), ThreadPoolExecutor(jobs) as pool:
            _claim(out / "asked.sha256", material)
            results = _grade_all(material, files, out, pool)
            _write_grades(out / "grades.csv", material, results)
            _write_mistakes(out / "mistakes.csv", material, results)
            return results
    except Timeout:
        raise ValueError(f"another process is grading into {out}") from None


def left_out(submissions: Path) -> list[str]:
    """A sentence for each kind of thing in a folder that is not graded: other files, and what lies in folders below."""
    named = [path for path in sorted(submissions.glob("*")) if not path.name.startswith((".", "__MACOSX"))]
    others = [printable(path.name) for path in named if path.suffix != ".ipynb" and not path.is_dir()]
    below = [path for path in submissions.glob("*/**/*.ipynb") if ".ipynb_checkpoints" not in path.parts]
    found = []
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        names = ", ".join(others[:SHOWN])
        found.append(f"left out: {names}{more}; what is to be graded must be a notebook and end in .ipynb")
    if below:
        such = printable(str(below[0]))
        found.append(f"left out: {len(below)} notebooks in folders below {submissions}, such as {such}; move them up")
    return found


def _claim(mark: Path, material: Material) -> None:
    """A folder is for one set of one term: what was asked there, and nothing else."""
    points = [drawn.problem.points for drawn in material.problems]
    asked = hashlib.sha256(json.dumps([points, material.orders]).encode()).hexdigest()
    if mark.exists() and mark.read_text() != asked:
        raise ValueError(f"--out must be a folder for this set and term alone, and {mark.parent} holds other grades")
    write_atomically(mark, asked.encode())


def _grade_all(material: Material, files: list[Path], out: Path, pool: ThreadPoolExecutor) -> list[dict[str, Any]]:
    _ = material.wanted, material.orders  # made once, before the threads
    tests = _digest_of(material)
    waiting: dict[Future[dict[str, Any]], Path] = {}
    found = {}
    for file in files:
        before = _result_before(out, file, tests)
        if before:
            found[file] = before
        else:
            waiting[pool.submit(_grade_file, material, file, out, tests)] = file
    try:
        for done in tqdm(as_completed(waiting), total=len(files), initial=len(found), unit="submission"):
            found[waiting[done]] = done.result()
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
    return [found[file] for file in files]


def _grade_file(material: Material, file: Path, out: Path, tests: str) -> dict[str, Any]:
    """Grade one submission; whatever is wrong with it is said of it, and touches no other."""
    possible = sum(drawn.problem.possible for drawn in material.problems)
    try:
        graded, remark = grade(code_cells(file), material), ""
        if graded.other:
            remark = f"of another set or term: {graded.other}"
    except (OSError, ImportError):
        raise  # of this machine, not of this submission
    except Exception as error:
        unforeseen = not isinstance(error, ValueError)
        why = f"the grader failed on it, {type(error).__name__}: {error}" if unforeseen else str(error)
        remark, tests = f"not graded: {printable(why, 300)}", "" if unforeseen else tests
        graded = Graded(0, possible, {}, f"# 0 of {possible} points\n\n- Your file was {remark}.\n", ())
    name = printable(file.name)
    result = {"file": name, "sha256": _digest(file), "tests": tests, "remark": remark, **asdict(graded)}
    write_atomically(out / "feedback" / f"{file.stem}.md", graded.feedback.encode())
    write_atomically(out / "feedback" / f"{file.stem}.html", _page(graded.feedback, name).encode())
    write_atomically(_place(out, file), json.dumps(result, indent=1, ensure_ascii=False).encode())
    return result


def _page(feedback: str, title: str) -> str:
    """Feedback as a page that opens anywhere."""
    from markdown_it import MarkdownIt  # comes with otter-grader

    body = MarkdownIt("commonmark", {"html": False}).render(feedback)
    return PAGE.format(title=escape(title), body=body)


def _result_before(out: Path, file: Path, tests: str) -> dict[str, Any] | None:
    """The result that is there already, if it is one, of this very file and these tests."""
    try:
        found: dict[str, Any] = json.loads(_place(out, file).read_text(encoding="utf-8"))
        known = {"file", "remark", "sha256", "tests", *(field.name for field in fields(Graded))} == set(found)
        return found if known and (found["sha256"], found["tests"]) == (_digest(file), tests) else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _place(out: Path, file: Path) -> Path:
    return out / "results" / f"{file.stem}.json"


def _digest(file: Path) -> str:
    """Of what a file holds; of nothing where it cannot be read."""
    try:
        return hashlib.sha256(content(file)).hexdigest()
    except ValueError:
        return ""


def _digest_of(material: Material) -> str:
    """Changes with what is asked, with the points, and with what is right."""
    points = [drawn.problem.points for drawn in material.problems]
    return hashlib.sha256(json.dumps([points, material.orders, material.wanted]).encode()).hexdigest()


def _write_grades(path: Path, material: Material, results: list[dict[str, Any]]) -> None:
    names = [drawn.name for drawn in material.problems]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", *names, "points", "possible", "remark"])
    for result in results:
        file = ("'" if result["file"].startswith(FORMULA) else "") + result["file"]
        points = [f"{result['problems'].get(name, {}).get('points', 0):g}" for name in names]
        table.writerow([file, *points, f"{result['points']:g}", f"{result['possible']:g}", result["remark"]])
    write_atomically(path, text.getvalue().encode())


def _write_mistakes(path: Path, material: Material, results: list[dict[str, Any]]) -> None:
    """What a class stumbled over: each problem's known mistakes, those of most students first, and what else it was."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["problem", "students", "mistake"])
    for drawn in material.problems:
        answers = [result["problems"][drawn.name] for result in results if drawn.name in result["problems"]]
        for mistake, count in Counter(name for answer in answers for name in answer["mistakes"]).most_common():
            table.writerow([drawn.name, count, mistake])
    write_atomically(path, text.getvalue().encode())
