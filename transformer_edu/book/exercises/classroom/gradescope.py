"""For Gradescope: its autograder, a zip, and results in its format (https://gradescope-autograders.readthedocs.io)."""

import io
import zipfile
from pathlib import Path
from typing import Any

from transformer_edu.book.exercises.classroom.problems import EXAMPLES
from transformer_edu.support.files import write_atomically

EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file in the zip: the same content gives the same bytes
SETUP = """#!/usr/bin/env bash
set -e
python3 -m pip install torch -r /autograder/source/assignments/requirements.txt
python3 -m pip install /autograder/source/*.whl
"""
RUN = """#!/usr/bin/env bash
cd /autograder/source
transformer-edu classroom grade /autograder/submission --term term --set {} --out /autograder/graded \\
    --gradescope /autograder/results/results.json
"""


def results(graded: dict[str, Any]) -> dict[str, Any]:
    """A graded submission as Gradescope reads it: hidden groups are shown once grades are published."""
    tests = [
        {
            "name": f"{name}: {group}",
            "status": "passed" if passed else "failed",
            "visibility": "visible" if group == EXAMPLES else "after_published",
        }
        for name, found in graded["problems"].items()
        for group, passed in found["passed"].items()
    ]
    return {
        "score": graded["points"],
        "output": graded["feedback"],
        "output_format": "md",
        "visibility": "after_published",
        "tests": tests,
    }


def write_autograder(out: Path, term: Path, assignments: Path, number: int, wheel: Path) -> None:
    """Write the zip to upload: the set's tests and the term's key, the set itself, and this package.

    Raises:
        ValueError: `wheel` is no wheel of this package.
    """
    if not wheel.is_file() or not wheel.name.startswith("transformer_edu-") or wheel.suffix != ".whl":
        raise ValueError(
            f"--wheel must be a wheel of this package (`pip wheel --no-deps .` makes one), got {str(wheel)!r}"
        )
    private = term / "private"
    files = {"setup.sh": SETUP.encode(), "run_autograder": RUN.format(number).encode(), wheel.name: wheel.read_bytes()}
    kept = [private / "key", private / "term.json", *sorted((private / f"set-{number}" / "tests").glob("*.py"))]
    files |= {f"term/{file.relative_to(term).as_posix()}": file.read_bytes() for file in kept}
    sets = [*sorted(assignments.glob(f"set_{number}_*.py")), assignments / "requirements.txt"]
    files |= {f"assignments/{file.name}": file.read_bytes() for file in sets}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            about = zipfile.ZipInfo(name, EPOCH)
            about.external_attr = (0o755 if name in ("setup.sh", "run_autograder") else 0o644) << 16
            archive.writestr(about, data)
    write_atomically(out, content.getvalue())
