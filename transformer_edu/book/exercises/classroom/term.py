"""A term's folder: what is handed out, and what only the teacher has.

FOLDER/public/set-1.ipynb ...          to hand out
FOLDER/private/key                     draws the choices and the hidden cases; whoever has it can make the rest
FOLDER/private/set-1/solution.ipynb    with the rubric
FOLDER/private/set-1/tests/NAME.py     for otter-grader
FOLDER/private/term.json               name of the term, digests of the key and of each set's text it was made from
"""

import hashlib
import importlib.util
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_edu.book.exercises.classroom.drawing import draw
from transformer_edu.book.exercises.classroom.grading import Material, test_file
from transformer_edu.book.exercises.classroom.notebooks import handout, solution_notebook, student_notebook, written
from transformer_edu.book.exercises.classroom.problems import ProblemSet
from transformer_edu.support.files import write_atomically

PRACTICE = b"practice"  # the key of the notebooks that everybody may have


@dataclass(frozen=True)
class Source:
    """A problem set, and the digest of the file that it was read from."""

    problems: ProblemSet
    digest: str


def load_sets(folder: Path) -> list[Source]:
    """The problem sets of a folder, from its files `set_*.py`, each of which defines `SET`.

    Raises:
        ValueError: there are none.
    """
    files = sorted(folder.glob("set_*.py"))
    if not files:
        raise ValueError(
            f"--assignments must be a folder with set_*.py files, got {str(folder)!r}, which has none: the problem "
            "sets come with the book's source (git clone it), not with the installed package"
        )
    return [_load(file) for file in files]


def _load(file: Path) -> Source:
    spec = importlib.util.spec_from_file_location(f"assignments.{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: ProblemSet = module.SET
    return Source(found, _digest(file.read_bytes()))


def make(folder: Path, sources: list[Source], name: str, repository: str = "") -> None:
    """Make a term's folder; where it is there already, its key is kept, and everything else made anew.

    Raises:
        ValueError: the folder belongs to another term, or its key is not the one that the term was made with.
    """
    private = folder / "private"
    private.mkdir(parents=True, exist_ok=True)
    private.chmod(0o700)
    write_atomically(private / ".gitignore", b"*\n")
    about = private / "term.json"
    told = json.loads(about.read_text()) if about.exists() else {"name": name}
    if told["name"] != name:
        raise ValueError(f"{folder} belongs to the term {told['name']!r}, not to {name!r}")
    if not about.exists():
        _write_key(private / "key")
    key = _key(private / "key", told)
    for source in sources:
        problems = source.problems
        drawn = draw(problems, key)
        own = private / problems.name
        blank = written(student_notebook(problems, drawn, name, repository))
        write_atomically(folder / "public" / f"{problems.name}.ipynb", blank)
        write_atomically(own / "solution.ipynb", written(solution_notebook(problems, drawn, name)))
        for task in drawn:
            write_atomically(own / "tests" / f"{task.name}.py", test_file(task).encode())
    told = {"name": name, "key": _digest(key), "sets": {source.problems.name: source.digest for source in sources}}
    write_atomically(about, json.dumps(told, indent=1).encode() + b"\n")


def material(folder: Path, sources: list[Source], number: int) -> Material:
    """What a set of a term is graded with.

    Raises:
        ValueError: there is no such term or set, or it was made from another text of the set, or with another key.
    """
    about = folder / "private" / "term.json"
    if not about.is_file():
        raise ValueError(f"--term must be a folder that `classroom make` has made, got {str(folder)!r}")
    source = next((source for source in sources if source.problems.number == number), None)
    told = json.loads(about.read_text())
    digests = told["sets"]
    if source is None or source.problems.name not in digests:
        raise ValueError(f"--set must be one of {', '.join(name[4:] for name in digests)}, got {number}")
    if digests[source.problems.name] != source.digest:
        raise ValueError(
            f"{source.problems.name} has changed since the term was made: its hidden tests would not fit what was "
            "handed out. Grade with the edition of the book that the term was made with"
        )
    drawn = draw(source.problems, _key(folder / "private" / "key", told))
    tests = folder / "private" / source.problems.name / "tests"
    return Material(drawn, tests, handout(source.problems, told["name"]))


def _key(path: Path, told: dict[str, Any]) -> bytes:
    """The term's key, if it is the one that `told`, what term.json says, is about."""
    key = path.read_bytes()
    if not key or told.get("key", _digest(key)) != _digest(key):
        raise ValueError(
            f"{path} is not the key that the term was made with: it would draw other hidden tests than were handed "
            "out. Put the right one back, byte for byte"
        )
    return key


def _write_key(path: Path) -> None:
    """A new key where there is none, which nobody else may read."""
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(32).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
