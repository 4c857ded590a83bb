"""Run the chapters as a reader on Colab does: in an environment with Colab's versions, from an empty folder.

    python3.13 -m venv ENV && ENV/bin/python -m pip install --no-compile -r tools/colab.txt
    python tools/try_colab.py ENV/bin/python                    # every chapter
    python tools/try_colab.py ENV/bin/python 06-attention       # only this one

For each chapter: the folder holds its notebook alone, as it is written for Colab (plain_chapters.py), whose first cell
installs the package from a git remote, which is a copy of this repository as last committed. What pip added is taken
away again before the next chapter, so that each starts where a reader does. It prints the seconds of the first cell and
of the rest, and what the first cell said. The exit status is 1 if a cell failed, a package of Colab's was replaced, or
the first cell did not say what it installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from plain_chapters import plain
from run_notebooks import ANSI_COLOUR, HANG, ROOT, chosen
from set_repository import set_in_notebook

from transformer_edu.support.files import write_atomically

LISTED = Path(__file__).with_name("colab.txt")
PACKAGE = "transformer-edu"
KERNEL = "colab"
Versions = dict[str, str]


@dataclass(frozen=True)
class Trial:
    """How one chapter went: what its first cell printed and how long it took, the rest's seconds, the error or ""."""

    said: str
    first: float
    rest: float
    error: str


def listed(text: str) -> Versions:
    """Return the versions that a list of `name==version` lines gives."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return {normal(name): version for name, _, version in (line.partition("==") for line in lines if line)}


def normal(name: str) -> str:
    """Return a package's name as pip compares it."""
    return name.lower().replace("_", "-").replace(".", "-")


def installed(python: str) -> Versions:
    """Return what is installed in an interpreter's environment."""
    command = [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {normal(package["name"]): package["version"] for package in found}


def replaced(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Say which packages of `before` are gone or have another version; a build such as 2.11.0+cpu is the same one."""
    changed = {name: (old, after.get(name, "gone")) for name, old in before.items()}
    return [f"{name} {old} -> {new}" for name, (old, new) in changed.items() if old.split("+")[0] != new.split("+")[0]]


def faults(trial: Trial, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Say what was wrong with a trial, and with what pip did in it: nothing, if all went well."""
    found = [trial.error] if trial.error else []
    unsaid = [name for name in sorted(after.keys() - before.keys()) if f" {name}-" not in normal(trial.said)]
    found += [f"the first cell did not say that it installed {', '.join(unsaid)}"] if unsaid else []
    found += [] if PACKAGE in after else [f"{PACKAGE} was not installed"]
    return found + [f"replaced: {change}" for change in replaced(before, after)]


def serve(folder: Path) -> str:
    """Make a bare copy of the last commit in `folder`; return its address."""
    address = (folder / "book.git").as_uri()
    subprocess.run(["git", "clone", "--quiet", "--bare", ROOT.as_uri(), folder / "book.git"], check=True)
    return address


def committed(chapter: str) -> bytes:
    """Return a chapter's notebook as last committed."""
    command = ["git", "show", f"HEAD:notebooks/{chapter}.ipynb"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout


def offer_kernel(python: str, folder: Path) -> None:
    """Let this process find the interpreter's kernel, and let the kernel find nothing of this repository."""
    argv = [python, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": KERNEL, "language": "python"}
    path = folder / "kernels" / KERNEL / "kernel.json"
    path.parent.mkdir(parents=True)
    write_atomically(path, json.dumps(spec).encode())
    os.environ["JUPYTER_PATH"] = str(folder)
    os.environ.pop("PYTHONPATH", None)


def run_chapter(notebook: NotebookNode, folder: Path) -> Trial:
    """Run a notebook's cells in Colab's kernel; its first code cell is timed by itself."""
    client = NotebookClient(notebook, kernel_name=KERNEL, timeout=None, startup_timeout=HANG)
    client.resources = {"metadata": {"path": str(folder)}}
    code = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    seconds, error = [0.0, 0.0], ""
    with client.setup_kernel():
        try:
            for position, (index, cell) in enumerate(code):
                began = time.perf_counter()
                client.execute_cell(cell, index)
                seconds[position > 0] += time.perf_counter() - began
        except CellExecutionError as failure:
            error = ANSI_COLOUR.sub("", str(failure))
    said = "".join(output.get("text", "") for output in code[0][1].outputs)
    return Trial(said.strip(), seconds[0], seconds[1], error)


def try_chapter(chapter: str, address: str) -> Trial:
    """Run one chapter in a folder that holds nothing else."""
    with tempfile.TemporaryDirectory() as empty:
        path = Path(empty) / f"{chapter}.ipynb"
        write_atomically(path, committed(chapter))
        set_in_notebook(path, address)
        return run_chapter(plain(nbformat.read(path, as_version=4)), path.parent)


def try_all(chapters: list[str], python: str, address: str) -> int:
    """Try chapters one after the other, reporting each; return how many did not pass."""
    before, failed = installed(python), 0
    print(f"{'chapter':32} {'first cell':>10} {'the rest':>10}", flush=True)
    for chapter in chapters:
        trial = try_chapter(chapter, address)
        after = installed(python)
        wrong = faults(trial, before, after)
        print(f"{chapter:32} {trial.first:8.1f} s {trial.rest:8.1f} s  {'FAILED' if wrong else 'ok'}", flush=True)
        for line in wrong:
            print(line, file=sys.stderr, flush=True)
        failed += bool(wrong)
        if new := sorted(after.keys() - before.keys()):
            uninstall = [python, "-m", "pip", "uninstall", "--quiet", "--yes", "--root-user-action=ignore"]
            subprocess.run([*uninstall, *new], check=True)
    print(f"The last first cell said:\n{trial.said}")
    return failed


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="the interpreter of an environment made from tools/colab.txt")
    parser.add_argument("chapters", nargs="*", help="names such as 06-attention; all if none is given")
    options = parser.parse_args()
    present = installed(options.python)
    other = replaced(listed(LISTED.read_text(encoding="utf-8")), present)
    other += [f"{PACKAGE} is installed already"] if PACKAGE in present else []
    if other:
        raise SystemExit(f"not Colab's environment: {', '.join(other)}")
    chapters = [path.stem for path in chosen(options.chapters, ROOT / "notebooks")]
    with tempfile.TemporaryDirectory() as folder:
        offer_kernel(options.python, Path(folder))
        return bool(try_all(chapters, options.python, serve(Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
