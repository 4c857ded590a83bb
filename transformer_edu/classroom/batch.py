"""Grade a folder of submissions: side by side, with progress, and to be interrupted and started again at any moment."""

import csv
import hashlib
import io
import json
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from tqdm.auto import tqdm

from transformer_edu.classroom.grading import Graded, Material, grade
from transformer_edu.classroom.submission import code_cells
from transformer_edu.support.files import write_atomically

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
    files = sorted(one for one in submissions.glob("*.ipynb"))
    if not files:
        raise ValueError(f"SUBMISSIONS must be a folder with .ipynb files, got {str(submissions)!r}, which has none")
    if out.resolve() == submissions.resolve():
        raise ValueError("--out must be another folder than SUBMISSIONS")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / ".lock", timeout=0), ThreadPoolExecutor(jobs) as pool:
            _claim(out / "asked.sha256", material)
            results = _grade_all(material, files, out, pool)
            _write_grades(out / "grades.csv", material, results)
            _write_mistakes(out / "mistakes.csv", material, results)
            return results
    except Timeout:
        raise ValueError(f"another process is grading into {out}") from None


def _claim(mark: Path, material: Material) -> None:
    """A folder is for one set of one term: what was asked there, and nothing else."""
    points = [one.problem.points for one in material.problems]
    asked = _digest(json.dumps([points, material.orders]).encode())
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
        for one in waiting:
            one.cancel()
        raise
    return [found[file] for file in files]


def _grade_file(material: Material, file: Path, out: Path, tests: str) -> dict[str, Any]:
    try:
        content, problem = _bytes(file), None
        graded = grade(code_cells(file), material)
    except ValueError as error:
        problem, graded = str(error), None
    possible = sum(one.problem.possible for one in material.problems)
    if graded is None:
        graded = Graded(0, possible, {}, f"# 0 of {possible} points\n\n- Your file was not graded: {problem}.\n", ())
    result = {"file": file.name, "sha256": _digest(content), "tests": tests, **asdict(graded)}
    write_atomically(out / "feedback" / f"{file.stem}.md", graded.feedback.encode())
    write_atomically(out / "feedback" / f"{file.stem}.html", _page(graded.feedback, file.name).encode())
    write_atomically(_place(out, file), json.dumps(result, indent=1, ensure_ascii=False).encode())
    return result


def _page(feedback: str, title: str) -> str:
    """Feedback as a page that opens anywhere."""
    from markdown_it import MarkdownIt  # comes with otter-grader

    body = MarkdownIt("commonmark", {"html": False}).render(feedback)
    return PAGE.format(title=escape(title), body=body)


def _result_before(out: Path, file: Path, tests: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(_place(out, file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    same = found.get("sha256") == _digest(_bytes(file)) and found.get("tests") == tests
    return found if same else None


def _place(out: Path, file: Path) -> Path:
    return out / "results" / f"{file.stem}.json"


def _bytes(file: Path) -> bytes:
    return b"" if file.is_symlink() or not file.is_file() else file.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of(material: Material) -> str:
    """Changes with what is asked, with the points, and with what is right."""
    points = [one.problem.points for one in material.problems]
    return _digest(json.dumps([points, material.orders, material.wanted]).encode())


def _write_grades(path: Path, material: Material, results: list[dict[str, Any]]) -> None:
    names = [one.name for one in material.problems]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", *names, "points", "possible"])
    for one in results:
        file = ("'" if one["file"].startswith(FORMULA) else "") + one["file"]
        points = [f"{one['problems'].get(name, {}).get('points', 0):g}" for name in names]
        table.writerow([file, *points, f"{one['points']:g}", f"{one['possible']:g}"])
    write_atomically(path, text.getvalue().encode())


def _write_mistakes(path: Path, material: Material, results: list[dict[str, Any]]) -> None:
    """What a class stumbled over: each problem's known mistakes, those of most students first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["problem", "students", "mistake"])
    for drawn in material.problems:
        lost = [one["problems"][drawn.name] for one in results if drawn.name in one["problems"]]
        lost = [one for one in lost if one["points"] < one["possible"]]
        for mistake, count in Counter(one.get("mistake") or "none of the known ones" for one in lost).most_common():
            table.writerow([drawn.name, count, mistake])
    write_atomically(path, text.getvalue().encode())
