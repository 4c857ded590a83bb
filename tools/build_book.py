"""Build the book's HTML from the chapters' stored outputs, with warnings as errors.

Nothing changed: nothing is done. A page changed: that page is built. The frame (configuration, contents, extensions,
styles, interactive figures, environment) changed, or the last build did not end well: everything is built anew, so a
build that failed fails again.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
FRAME = (
    *(
        "_config.yml",
        "_toc.yml",
        "requirements.txt",
        "tools/build_book.py",
        "transformer_edu/book/figures",
        "transformer_edu/data/examples.py",
    ),
    *("book/_ext", "book/_static", "book/_templates", "book/dark", "book/references.bib"),
)
PAGES = ("book", "notebooks", "transformer_edu/book/recordings", "transformer_edu/book/exercises/checks")
IGNORED = ("__pycache__", ".ipynb_checkpoints")


def digest(names: tuple[str, ...]) -> str:
    """Return the SHA-256 of the named files and folders."""
    total = hashlib.sha256()
    for name in names:
        place = ROOT / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and not any(part in IGNORED for part in path.parts):
                total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def build() -> int:
    """Run Jupyter Book; return its exit status."""
    program = Path(sysconfig.get_path("scripts")) / "jupyter-book"
    command = [str(program), "build", ".", "-W", "--keep-going", "-q"]
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, cwd=ROOT, env=os.environ | quiet).returncode


def main() -> int:
    """Build what changed, and say where the book is."""
    stamp, index = BUILD / "built.txt", BUILD / "html" / "index.html"
    frame, pages = digest(FRAME), digest(PAGES)
    before = [*(stamp.read_text().split() if stamp.exists() else []), "", ""][:2]  # a stamp cut off is none
    if before != [frame, pages]:
        if before[0] != frame:
            shutil.rmtree(BUILD, ignore_errors=True)
        stamp.unlink(missing_ok=True)
        on_top = BUILD.exists()
        if (status := build()) and on_top:  # what a build that was cut off has left may be at fault
            shutil.rmtree(BUILD, ignore_errors=True)
            status = build()
        if status:
            shutil.rmtree(BUILD, ignore_errors=True)
            print("The book was not built: mend the warnings above.", file=sys.stderr)
            return status
        write_atomically(stamp, f"{frame}\n{pages}\n".encode())
    print(f"The book is at {index.relative_to(ROOT)}: open {index.as_uri()} in a browser, or run `make serve`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
