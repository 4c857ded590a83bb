"""A submission runs apart, whatever it does; what is said of it is right, and nothing of it is read as markup.

otter-grader, which counts the points, has an environment of its own: `make classroom` grades all fixtures with it.
"""

import csv
import itertools
import json
import os
import subprocess
import sys
import threading
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from filelock import FileLock
from IPython.core.inputtransformer2 import TransformerManager

from transformer_edu.book.commands.main import main
from transformer_edu.book.exercises.classroom import batch, gradescope, grading, term, worker
from transformer_edu.book.exercises.classroom.fixtures import fixtures
from transformer_edu.book.exercises.classroom.grading import (
    Graded,
    Marks,
    Material,
    feedback_on,
    mistakes_in,
    run_cells,
)
from transformer_edu.book.exercises.classroom.notebooks import student_notebook, written
from transformer_edu.book.exercises.classroom.problems import EXAMPLES
from transformer_edu.book.exercises.classroom.submission import code_cells

pytestmark = pytest.mark.long  # processes of their own

LOUD = "print('x' * 100_000, flush=True)"  # more than is kept of what is printed


def graded(cells, material):
    """Points by problem, counted here, and the feedback."""
    ran = run_cells(cells, material)
    marks = Marks(material, ran.answers)
    problems = {}
    for drawn in material.problems:
        groups = drawn.problem.points
        got = sum(points for group, points in groups.items() if (drawn.name, group) not in marks.wrong)
        problems[drawn.name] = {"points": got, "possible": drawn.problem.possible}
    feedback = feedback_on(material, marks, ran, problems, mistakes_in(material, ran, problems))
    return {name: problem["points"] for name, problem in problems.items()}, feedback, ran


@pytest.fixture(scope="module")
def handed_in(sources, masks):
    """The fixtures of problem set 2, by name."""
    return {fixture.name: fixture for fixture in fixtures(sources[1].problems, masks.problems)}


def cells_of(fixture, tmp_path):
    file = tmp_path / "handed-in.ipynb"
    file.write_bytes(written(fixture.notebook))
    return code_cells(file)


@pytest.mark.parametrize(
    "name",
    ["perfect", "blank", "mistake-attention-5", "syntax-error", "4-gb", "cells-reordered", "metadata-stripped",
     "pasted-twice", "overwrites-the-checks", "ends-the-process-in-a-cell"],
)  # fmt: skip
def test_points_are_exact(name, handed_in, masks, tmp_path):
    fixture = handed_in[name]
    points, feedback, ran = graded(cells_of(fixture, tmp_path), masks)
    assert points == fixture.points, feedback
    assert all("Landlock" not in sentence for sentence in ran.unprotected)


def test_an_endless_function_and_one_that_ends_the_process_cost_only_their_own_points(monkeypatch, masks, handed_in):
    monkeypatch.setattr(grading, "SECONDS", 1.0)
    cells = [cell.source for cell in handed_in["perfect"].notebook.cells if cell.cell_type == "code"]
    cells += ["def softmax(scores):\n    while True:\n        pass"]
    cells += [f"import os\n\ndef window_mask(size):\n    {LOUD}\n    os._exit(0)", "while True:\n    pass"]
    cells += ["def distance_bias(*_):\n    return sum(range(10**12))", f"{LOUD}\nos._exit(0)"]
    cells += ["def deal_out(*_):\n    return torch.zeros(3000, 3000)"]
    points, feedback, _ = graded(cells, masks)
    assert points == {**dict.fromkeys(points, 0), "attention": handed_in["perfect"].points["attention"]}
    assert feedback.count("it takes more than 1 s: an endless loop?") == 1 + 3 + 2  # a cell, groups of two functions
    assert "it ended the process itself" in feedback
    assert "a tensor of shape (3000, 3000) is no answer: it is far too large" in feedback
    assert "`softmax` is defined 2 times; the last one counts." in feedback


def ending(*marks):
    """What runs apart, one mark after another being the last one, and then answers."""
    outcomes = [grading.Outcome(None, "ended the process itself", f"\x1fcell {mark}\x1f") for mark in marks]
    told = b'{"unprotected": [], "cells": [], "defined": {}, "answers": {"softmax": {}}}'
    return iter([*outcomes, grading.Outcome(told, None, "")])


def test_many_cells_may_end_the_process_and_too_many_are_said_to(masks, monkeypatch):
    for count, note in (
        (9, "Code cell 9 was left out: `it ended the process itself`."),
        (99, "Nothing could be graded"),
    ):
        outcomes = ending(*range(1, count + 1))
        monkeypatch.setattr(grading, "run_apart", lambda *_, outcomes=outcomes: next(outcomes))
        ran = run_cells(["pass"] * count, masks)
        assert any(line.startswith(note) for line in ran.notes)
        assert ("softmax" in ran.answers) == (count == 9)
    outcomes = ending(1, 2, 3)
    monkeypatch.setattr(grading, "run_apart", lambda *_: next(outcomes))
    assert "Nothing could be graded" in run_cells(["pass"] * 3, masks, grading.Limits(seconds=-1.0)).notes[0]


def test_what_is_far_too_large_is_no_answer_and_what_comes_after_it_is_one():
    cases = {"cases": {"examples": [[100], [3_000_000], [4]]}, "gradient": False, "never": ()}
    for answer in (lambda n: "a" * n, lambda n: torch.zeros(n)):
        small, large, last = worker.answers(answer, cases, 60.0)["examples"]
        assert "output" in small
        assert "far" in large["error"]
        assert "output" in last
    assert "4300 digits" in worker.answers(lambda n: 10**5000, cases, 60.0)["examples"][0]["error"]


def test_magics_that_run_what_stands_below_them_and_display_cost_nothing():
    transform = TransformerManager().transform_cell
    place = worker.namespace(transform)
    cells = ["display(1)\ndef a():\n    pass", "%%time\ndef b():\n    pass", "%%capture out\nc = 1", "%time d = c + 1"]
    errors, _ = worker.run_cells([*cells, "%%bash\ne = 1", "%matplotlib inline\n!ls"], place, set(), transform, 8.0)
    assert not errors
    assert {"a", "b", "c", "d"} <= set(place)
    assert "e" not in place


def test_a_notebook_of_another_set_or_term_is_known_as_one(sources, masks, tmp_path):
    file = tmp_path / "a.ipynb"
    for number, name in ((1, "spring"), (0, "spring"), (1, "autumn")):
        file.write_bytes(written(student_notebook(sources[number].problems, masks.problems, name)))
        other = f"problem set {number + 1}, {name}"
        assert grading.other_handout(code_cells(file), masks) == ("" if (number, name) == (1, "spring") else other)
    assert grading.other_handout(["softmax = None"], masks) == ""


def test_the_diagnosis_is_in_the_feedback_and_no_hidden_number_is(handed_in, masks, tmp_path):
    mistake = masks.problems[3].problem.mistakes[4]
    _, feedback, _ = graded(cells_of(handed_in["mistake-attention-5"], tmp_path), masks)
    assert f"what this mistake does: {mistake.name}." in feedback
    assert mistake.hint in feedback
    hidden = masks.orders[3]["cases"]["batches and heads"][0][0]["values"]
    assert not any(f"{abs(value):.3f}" in feedback for value in hidden if abs(value) > 0.01)


def test_an_error_tells_no_number_of_a_hidden_test(masks):
    wrong = {"error": "it stops with ValueError: [[-0.25, 1e-3]], x of (3)"}
    wanted = masks.wanted["softmax"]
    marks = Marks(masks, {"softmax": {group: [wrong] * len(cases) for group, cases in wanted.items()}})
    assert marks.wrong["softmax", EXAMPLES] == wrong["error"]
    assert marks.wrong["softmax", "more dimensions"] == "it stops with ValueError: [[…, …]], x of (…)"


def test_what_is_no_text_and_what_a_terminal_obeys_comes_out_harmless(masks, monkeypatch):
    evil = "\\ud800\\u001b[2J"
    told = f'{{"unprotected": ["{evil}"], "cells": [{{"cell": 1, "error": "{evil}"}}], "defined": {{}}, "answers":'
    told += f'{{"softmax": {{"examples": [{{"error": "{evil}"}}, {{"error": "{evil}"}}]}}}}}}'
    monkeypatch.setattr(grading, "run_apart", lambda *_: grading.Outcome(told.encode(), None, ""))
    _, feedback, ran = graded(["pass"], masks)
    other = grading.other_handout(["# problem set 7, \ud800\x1b[2J"], masks)
    assert "\\ud800\\x1b[2J" in other
    assert all(line.isprintable() for line in [*feedback.splitlines(), *ran.unprotected, other])


def feedback_of(codes, material):
    """The feedback on answers, run here, and what is counted of each."""
    answers = {}
    for drawn in material.problems:
        fn = drawn.function(codes.get(drawn.name, drawn.solution))
        answers[drawn.name] = {group: [drawn.observe(fn, row) for row in cases] for group, cases in drawn.cases.items()}
    ran = grading.Ran(answers)
    marks = Marks(material, answers)
    problems = {task.name: {"points": 0, "possible": task.problem.possible} for task in material.problems}
    return feedback_on(material, marks, ran, problems, mistakes_in(material, ran, problems))


def test_nothing_written_is_said_once(masks):
    blank = {drawn.name: drawn.starter for drawn in masks.problems}
    assert feedback_of(blank, masks).count("returns nothing (None)") == 1
    feedback = feedback_of({"softmax": blank["softmax"]}, masks)
    assert feedback.count("Nothing was written here: it returns nothing (None).") == 1
    assert feedback.count("## ") == len(masks.problems)


def test_two_mistakes_in_one_function_are_named_and_more_are_said_to_be_possible(masks):
    drawn = masks.problems[0]
    usual, overflows = drawn.problem.mistakes[4], drawn.problem.mistakes[0]
    feedback = feedback_of({"softmax": drawn.with_mistake(usual, overflows)}, masks)
    assert f"what these two mistakes do together: {usual.name}, and {overflows.name}." in feedback
    feedback = feedback_of({"softmax": drawn.solution.replace("return powers", "return 3 * powers + 1")}, masks)
    assert "there may be several in your function" in feedback


def test_what_a_student_writes_is_not_read_as_markup(masks):
    evil = "<script>alert(1)</script> `x` [a](javascript:b)\n# heading"
    _, feedback, _ = graded([f"def softmax(scores):\n    raise ValueError({evil!r})"], masks)
    line = next(text for text in feedback.splitlines() if "script" in text)
    code = line.partition("`")[2]
    assert code.count("`") == 1
    assert code.endswith("`")


ODD = """object(); [[[]]] * 3; float('nan'); {'dict': 1}; lambda: 1; torch.ones(3, dtype=torch.complex64); 10 ** 400;
torch.ones(2, 2).to_sparse(); torch.ones(2, 3, device='meta'); '\\ud800'; torch.ones(2, dtype=torch.uint8).numpy()"""


def test_odd_answers_are_wrong_and_nothing_else(masks):
    names = itertools.cycle(drawn.name for drawn in masks.problems)
    answers = [
        f"def {name}(*_):\n    return {answer.strip()}" for name, answer in zip(names, ODD.split(";"), strict=False)
    ]
    for start in range(0, len(answers), len(masks.problems)):
        points, feedback, _ = graded(answers[start : start + len(masks.problems)], masks)
        assert set(points.values()) == {0}
        assert "could not be run" not in feedback


@pytest.mark.parametrize(
    "claim",
    [b"", b"[]", b'{"unprotected": [], "cells": [], "defined": {}, "answers": {"softmax": {"examples": [3]}}}',
     b'{"unprotected": [], "cells": [], "defined": {}, "answers": {"softmax": {"examples": [{"output": {"dtype": "x",'
     b' "shape": [1], "values": [1]}, "changed": false}]}}}', b"[" * 100_000],
)  # fmt: skip
def test_a_forged_answer_of_the_process_earns_nothing(claim, masks, monkeypatch):
    monkeypatch.setattr(grading, "run_apart", lambda *_: grading.Outcome(claim, None, ""))
    points, _, _ = graded(["pass"], masks)
    assert set(points.values()) == {0}


def test_a_submission_reads_nothing_of_the_teachers(masks, term_folder):
    key = term_folder / "private" / "key"
    code = f"""
def softmax(scores):
    try:
        open({str(key)!r}).read()
    except PermissionError:
        raise KeyError("closed")
    raise KeyError("open")
"""
    _, feedback, ran = graded([code], masks)
    if not any("kernel has no Landlock" in sentence for sentence in ran.unprotected):
        assert "closed" in feedback
    assert key.stat().st_mode & 0o077 == 0


def test_lines_that_end_as_on_windows_are_lines(sources, masks, tmp_path):
    file = tmp_path / "a.ipynb"
    notebook = json.loads(written(student_notebook(sources[1].problems, masks.problems, "spring")))
    for cell in notebook["cells"]:
        cell["source"] = [line.replace("\n", "\r\n") for line in cell["source"]]
    file.write_text(json.dumps(notebook))
    assert not any("\r" in cell for cell in code_cells(file))
    assert grading.other_handout(code_cells(file), masks) == ""


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"cells": 3}', '{"cells": [{}]}', "[" * 100_000])
def test_what_is_no_notebook_is_refused(content, tmp_path):
    file = tmp_path / "a.ipynb"
    file.write_text(content)
    with pytest.raises(ValueError, match="cannot be read as a Jupyter notebook"):
        code_cells(file)


def test_a_link_to_a_file_of_the_teachers_is_not_followed(tmp_path, term_folder):
    file = tmp_path / "a.ipynb"
    file.symlink_to(term_folder / "public" / "set-2.ipynb")
    with pytest.raises(ValueError, match="a link"):
        code_cells(file)


# --- a folder of submissions ---------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, sources, masks):
    """Three blank notebooks, one of which has a name that a spreadsheet would calculate, and one that is none."""
    place = tmp_path / "handed in"
    place.mkdir()
    blank = written(student_notebook(sources[1].problems, masks.problems, "spring"))
    for name in ("ann & al.ipynb", "=1+1.ipynb", "bob.ipynb"):
        (place / name).write_bytes(blank)
    (place / "broken.ipynb").write_text("no notebook")
    return place


@pytest.fixture
def counted(monkeypatch, masks):
    """The names of what is graded, in place of grading, which `grade` does elsewhere."""
    calls = []

    def grade(cells, material):
        calls.append(len(cells))
        problems = {drawn.name: {"points": 1, "possible": drawn.problem.possible} for drawn in material.problems}
        for problem in problems.values():
            problem["mistakes"] = ["the mask is inverted"] if len(calls) > 1 else ["nothing was written"]
        return Graded(5, 21, problems, "# 5 of 21 points\n", ())

    monkeypatch.setattr(batch, "grade", grade)
    return calls


def rows(out, name="grades"):
    return list(csv.DictReader((out / f"{name}.csv").read_text().splitlines()))


def test_a_folder_is_graded_into_a_table_and_feedback(folder, counted, masks, tmp_path):
    out = tmp_path / "out"
    batch.grade_folder(masks, folder, out)
    found = {row["file"]: row for row in rows(out)}
    assert set(found) == {"ann & al.ipynb", "'=1+1.ipynb", "bob.ipynb", "broken.ipynb"}
    assert found["ann & al.ipynb"]["points"] == "5"
    assert found["ann & al.ipynb"]["attention"] == "1"
    assert found["broken.ipynb"]["points"] == "0"
    assert "cannot be read as a Jupyter notebook" in (out / "feedback" / "broken.md").read_text()
    page = (out / "feedback" / "ann & al.html").read_text()
    assert "<h1>5 of 21 points</h1>" in page
    assert "<title>ann &amp; al.ipynb</title>" in page
    told = [(row["students"], row["mistake"]) for row in rows(out, "mistakes") if row["problem"] == "attention"]
    assert told == [("2", "the mask is inverted"), ("1", "nothing was written")]


def test_a_submission_that_cannot_be_read_or_graded_is_named_and_touches_no_other(
    folder, masks, counted, tmp_path, monkeypatch
):
    working, reading = batch.grade, Path.read_bytes

    def grade(cells, material):
        if "overflow" in cells[-1]:
            raise OverflowError("\x1b[31m\ud800")
        return working(cells, material)

    def read_bytes(path):
        if path.name == "bob.ipynb":
            raise PermissionError(13, "Permission denied")
        return reading(path)

    monkeypatch.setattr(batch, "grade", grade)
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    fault = json.loads((folder / "ann & al.ipynb").read_text())
    fault["cells"][-1]["source"] = "overflow"
    (folder / "fault.ipynb").write_text(json.dumps(fault))
    with suppress(OSError):  # a disk that takes nothing but UTF-8
        (folder / os.fsdecode(b"Jos\xe9.ipynb")).write_bytes((folder / "ann & al.ipynb").read_bytes())
    for again in range(2):
        batch.grade_folder(masks, folder, tmp_path / "out")
        found = {row["file"]: (row["points"], row["remark"]) for row in rows(tmp_path / "out")}
        assert found.pop("Jos\\udce9.ipynb", ("5", "")) == ("5", "")
        assert found == {
            "ann & al.ipynb": ("5", ""),
            "'=1+1.ipynb": ("5", ""),
            "bob.ipynb": ("0", "not graded: it cannot be opened (Permission denied)"),
            "broken.ipynb": ("0", "not graded: it cannot be read as a Jupyter notebook (.ipynb)"),
            "fault.ipynb": ("0", "not graded: the grader failed on it, OverflowError: \\x1b[31m\\ud800"),
        }, again


@pytest.mark.parametrize("content", ["[]", "{}", "[" * 100_000, '{"file": "ann & al.ipynb", "tests": 3}'])
def test_a_result_that_is_none_is_made_again(content, folder, counted, masks, tmp_path):
    out = tmp_path / "out"
    (out / "results").mkdir(parents=True)
    (out / "results" / "ann & al.json").write_text(content)
    batch.grade_folder(masks, folder, out)
    assert {row["file"]: row["points"] for row in rows(out)}["ann & al.ipynb"] == "5"


def test_what_is_left_out_is_named(tmp_path):
    (tmp_path / "below").mkdir()
    for name in ("A.IPYNB", "b.ipynb.txt", "c.zip", "d.py", ".DS_Store", "e.ipynb", "below/f.ipynb", "g\x1b[2J.zip"):
        (tmp_path / name).touch()
    others, below = batch.left_out(tmp_path)
    assert others.startswith("left out: A.IPYNB, b.ipynb.txt, c.zip, d.py, g\\x1b[2J.zip;")
    assert "1 notebooks in folders below" in below
    (tmp_path / "e.ipynb").unlink()
    with pytest.raises(ValueError, match=r"which has none; left out: A\.IPYNB, "):
        batch.grade_folder(None, tmp_path, tmp_path / "out")


def test_grades_are_not_left_for_git_to_find_and_no_gitignore_is_replaced(folder, counted, masks, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / ".gitignore").write_text("build/")
    for out, wanted in ((tmp_path / "out", "*\n"), (mine, "build/")):
        batch.grade_folder(masks, folder, out)
        assert (out / ".gitignore").read_text() == wanted


def test_lint_looks_at_no_notebook_of_a_class(root, tmp_path):
    (tmp_path / "pyproject.toml").write_bytes((root / "pyproject.toml").read_bytes())
    for name in ("notebooks/01.ipynb", "spring/public/set-1.ipynb", "handed-in/ann.ipynb", "bob.ipynb", "tool.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    command = [sys.executable, "-m", "ruff", "check", "--show-files", "--no-cache", "."]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    found = {Path(line).relative_to(tmp_path).as_posix() for line in shown.splitlines()}
    assert found == {"pyproject.toml", "notebooks/01.ipynb", "tool.py"}


def test_nothing_is_graded_twice_and_what_has_changed_is_graded_again(folder, counted, masks, tmp_path):
    out = tmp_path / "out"
    batch.grade_folder(masks, folder, out)
    before = len(counted)
    batch.grade_folder(masks, folder, out)
    assert len(counted) == before == 3
    notebook = json.loads((folder / "ann & al.ipynb").read_text())
    notebook["cells"][-1]["source"] = "pass"
    (folder / "ann & al.ipynb").write_text(json.dumps(notebook))
    batch.grade_folder(masks, folder, out)
    assert len(counted) == before + 1


def test_interrupted_it_goes_on_where_it_was(folder, counted, masks, tmp_path, monkeypatch):
    out, working = tmp_path / "out", batch.grade

    def interrupted(cells, material):
        if len(counted) == 2:
            raise KeyboardInterrupt
        return working(cells, material)

    monkeypatch.setattr(batch, "grade", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch.grade_folder(masks, folder, out, jobs=1)
    assert not (out / "grades.csv").exists()
    (out / "results" / "half.json").write_text('{"file": "bob')  # what another program left
    monkeypatch.setattr(batch, "grade", working)
    batch.grade_folder(masks, folder, out)
    assert len(counted) == 3
    assert len(rows(out)) == 4


def test_the_grades_of_one_set_are_not_written_over_those_of_another(folder, counted, masks, tmp_path):
    out = tmp_path / "out"
    batch.grade_folder(masks, folder, out)
    before = (out / "grades.csv").read_bytes()
    other = Material(masks.problems[:2], masks.tests, masks.handout)
    with pytest.raises(ValueError, match="--out must be a folder for this set and term alone"):
        batch.grade_folder(other, folder, out)
    assert (out / "grades.csv").read_bytes() == before


def test_two_graders_do_not_write_into_one_folder(folder, counted, masks, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    started, done = threading.Event(), threading.Event()

    def hold():
        with FileLock(out / ".lock"):
            started.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    started.wait()
    with pytest.raises(ValueError, match="another process is grading"):
        batch.grade_folder(masks, folder, out)
    done.set()
    other.join()


def test_a_folder_without_notebooks_or_the_same_as_out_is_refused(folder, masks, tmp_path):
    with pytest.raises(ValueError, match=r"SUBMISSIONS must be a folder with \.ipynb files"):
        batch.grade_folder(masks, tmp_path / "none", tmp_path / "out")
    with pytest.raises(ValueError, match="--out must be another folder"):
        batch.grade_folder(masks, folder, folder)


def test_an_otter_test_asks_for_each_group(masks):
    for drawn in masks.problems:
        text = (masks.tests / f"{drawn.name}.py").read_text()
        compile(text, drawn.name, "exec")
        for group, points in drawn.problem.points.items():
            assert f"name={group!r}, points={points}, hidden={group != EXAMPLES})" in text


# --- the command, and Gradescope --------------------------------------------------------------------------------------


def test_the_command_makes_a_term_and_keeps_its_key(tmp_path, root, capsys):
    folder = tmp_path / "autumn"
    arguments = ["classroom", "make", str(folder), "--assignments", str(root / "assignments")]
    main(arguments)
    key, handout = (folder / "private" / "key").read_bytes(), (folder / "public" / "set-1.ipynb").read_bytes()
    main([*arguments, "--repository", "https://example.org/somebody/book"])
    assert b'REPOSITORY = \\"https://example.org/somebody/book\\"' in (folder / "public" / "set-1.ipynb").read_bytes()
    main(arguments)
    assert (folder / "private" / "key").read_bytes() == key
    assert (folder / "public" / "set-1.ipynb").read_bytes() == handout
    assert (folder / "private").stat().st_mode & 0o077 == 0
    with pytest.raises(SystemExit):
        main([*arguments, "--repository", 'https://a"b'])
    assert "--repository must be like https://HOST/OWNER/NAME" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*arguments, "--name", "another"])
    assert "belongs to the term 'autumn', not to 'another'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--set", "9"], "--set must be one of 1, 2, 3, 4, 5, got 9"),
        (["--term", "nowhere"], "--term must be a folder that `classroom make` has made"),
        (["--assignments", "nowhere"], "come with the book's source (git clone it), not with the installed package"),
        (["--jobs", "0"], "--jobs must be at least 1"),
    ],
)
def test_what_cannot_be_graded_is_said_in_a_line(change, message, root, term_folder, folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "otter", ModuleType("otter"))
    monkeypatch.setitem(sys.modules, "otter.test_files", ModuleType("otter.test_files"))
    given = {"--term": str(term_folder), "--set": "2", "--assignments": str(root / "assignments"), "--out": "out"}
    options = itertools.chain.from_iterable((given | dict([change])).items())
    with pytest.raises(SystemExit):
        main(["classroom", "grade", str(folder), *options])
    assert message in capsys.readouterr().err


def test_without_otter_the_command_says_where_to_get_it(root, term_folder, folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "otter", None)
    with pytest.raises(SystemExit):
        main(["classroom", "grade", str(folder), "--term", str(term_folder), "--set", "2", "--out", "out"])
    assert "grading needs otter-grader" in capsys.readouterr().err


def test_a_key_that_is_not_the_terms_is_refused(tmp_path, sources):
    folder = tmp_path / "old"
    term.make(folder, sources[:1], "old")
    key = folder / "private" / "key"
    right = key.read_bytes()
    for wrong in (right + b"\n", b""):
        key.write_bytes(wrong)
        with pytest.raises(ValueError, match="private/key is not the key that the term was made with"):
            term.material(folder, sources, 1)
        with pytest.raises(ValueError, match="private/key is not the key that the term was made with"):
            term.make(folder, sources[:1], "old")
    key.unlink()
    with pytest.raises(FileNotFoundError, match="key"):
        term.make(folder, sources[:1], "old")
    key.write_bytes(right)
    assert term.material(folder, sources, 1).problems


def test_a_set_that_has_changed_since_is_refused(tmp_path, root, sources):
    folder = tmp_path / "old"
    term.make(folder, sources, "old")
    changed = [replace(sources[0], digest="0" * 64), *sources[1:]]
    with pytest.raises(ValueError, match="set-1 has changed since the term was made"):
        term.material(folder, changed, 1)


def test_the_autograder_for_gradescope_holds_what_it_needs_and_its_results_what_may_be_seen(
    tmp_path, root, term_folder, masks
):
    wheel = tmp_path / "transformer_edu-1-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    for name in ("a.zip", "b.zip"):
        gradescope.write_autograder(tmp_path / name, term_folder, root / "assignments", 2, wheel)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        names = archive.namelist()
        assert {"setup.sh", "run_autograder", wheel.name, "term/private/key"} <= set(names)
        assert archive.getinfo("run_autograder").external_attr >> 16 == 0o755
        assert not any("solution" in entry or "set-1" in entry for entry in names)
    with pytest.raises(ValueError, match="--wheel must be a wheel"):
        gradescope.write_autograder(tmp_path / "c.zip", term_folder, root / "assignments", 2, tmp_path / "a.zip")
    passed = {"softmax": {"points": 1, "passed": {"examples": True, "large scores": False}}}
    told = gradescope.results({"points": 1, "feedback": "# 1", "problems": passed})
    assert [test["visibility"] for test in told["tests"]] == ["visible", "after_published"]
    assert told["score"] == 1
