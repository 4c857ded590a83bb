"""Run the chapters whose code, or whose part of the package, changed since their outputs were stored.

    python tools/run_notebooks.py                    # the stale ones, two at a time
    python tools/run_notebooks.py 06-attention       # only this one, if it is stale
    python tools/run_notebooks.py --all              # every one
    python tools/run_notebooks.py --check            # run nothing; list the stale ones and exit 1 if there are any

Running again gives byte-identical files, on another processor too: an output that agrees with the stored one by the
rule of agreement.py is kept as it was stored. A chapter that fails keeps the outputs it had.
"""

import argparse
import gc
import json
import os
import re
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import light_nbformat  # noqa: F401  before nbformat
import nbformat
from agreement import settle
from dark_pictures import remove_orphans, take_twins, write_twins
from filelock import FileLock
from fingerprint import Sources, fingerprint
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from normalize import normalize
from traitlets.config import Config

from transformer_edu.book.figures.stills import NO_STILL
from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
FINGERPRINTS = "outputs.json"  # beside the chapters: one line for each
TWICE = ["--IPKernelApp.extra_extensions=transformer_edu.book.plots.dark"]  # pictures are shown light and dark
PARSING = threading.Lock()  # Python 3.11 miscounts when two threads build syntax trees
HANG = 3600  # seconds; no busy machine takes that long to start a kernel
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def stale(paths: list[Path], root: Path = ROOT) -> list[Path]:
    """Return the chapters whose stored fingerprint is not that of their code and modules as they are now."""
    gc.disable()  # syntax trees are many small objects, none of them garbage: looking for it takes most of the time
    try:
        sources = Sources(root)
        present = {path: fingerprint(nbformat.read(path, as_version=4), root, sources) for path in paths}
    finally:
        gc.enable()
    return [path for path in paths if stored_fingerprints(path.parent).get(path.stem) != present[path]]


def stored_fingerprints(folder: Path) -> dict[str, str]:
    """Return each chapter's fingerprint of when its outputs were stored, by name."""
    path = folder / FINGERPRINTS
    stored: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return stored


def store_fingerprint(path: Path, mark: str) -> None:
    """Write down that a chapter's outputs are those of `mark`; forget chapters that are no more."""
    with FileLock(path.with_name(f".{FINGERPRINTS}.lock")):
        marks = stored_fingerprints(path.parent) | {path.stem: mark}
        kept = {name: mark for name, mark in marks.items() if path.with_name(f"{name}.ipynb").exists()}
        write_atomically(path.with_name(FINGERPRINTS), (json.dumps(kept, indent=1, sort_keys=True) + "\n").encode())


def execute(path: Path, root: Path = ROOT) -> float:
    """Run one chapter, store its normalized outputs and fingerprint, and return the seconds it took."""
    began, written = time.perf_counter(), path.read_bytes()
    notebook = nbformat.reads(written.decode(), as_version=4)
    with PARSING:
        mark = fingerprint(notebook, root)
    run_cells(notebook, path.parent)
    twins = take_twins(notebook)
    normalize(notebook)
    stored = nbformat.reads(written.decode(), as_version=4)
    keep_what_agrees(notebook, stored)
    add_stills(notebook, stored)
    if path.read_bytes() != written:
        raise RuntimeError("the file was edited while it ran; run it again")
    store(notebook, path)
    write_twins(twins, root)
    store_fingerprint(path, mark)
    return time.perf_counter() - began


def run_cells(notebook: NotebookNode, folder: Path) -> None:
    """Run every cell in a fresh kernel, however long it takes; its sockets are files: no port is shared."""
    with tempfile.TemporaryDirectory() as sockets:
        address = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name != "nt" else {}
        patience: dict[str, Any] = {"timeout": None, "startup_timeout": HANG}
        place = {"metadata": {"path": folder}}
        settings = Config(AsyncKernelManager=address)
        options: dict[str, Any] = {"config": settings, "resources": place, "extra_arguments": TWICE}
        NotebookClient(notebook, kernel_name="python3", **options, **patience).execute()


def keep_what_agrees(notebook: NotebookNode, stored: NotebookNode) -> None:
    """Leave an output as it was stored if the same code gave one that agrees with it."""
    for new, old in zip(notebook.cells, stored.cells, strict=True):
        if new.cell_type == "code":
            settle(new.outputs, old.outputs)


def add_stills(notebook: NotebookNode, previous: NotebookNode) -> None:
    """Give each interactive figure a picture of its default state, kept from before while that is unchanged."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    if any(NO_STILL in output.get("data", {}).get("text/html", "") for output in outputs):
        from take_stills import insert_stills

        insert_stills(notebook, previous)


def store(notebook: NotebookNode, path: Path) -> None:
    """Write the chapter, whole or not at all."""
    nbformat.validate(notebook)
    write_atomically(path, (nbformat.writes(notebook, indent=1, sort_keys=True).rstrip("\n") + "\n").encode())


def run_all(paths: list[Path], jobs: int) -> int:
    """Run chapters, `jobs` at a time, reporting each; return how many failed."""
    os.environ |= {"PYTHONHASHSEED": "0", "TRANSFORMER_EDU_DEVICE": "cpu"}
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // jobs)))
    failed = 0
    with ThreadPoolExecutor(max_workers=jobs) as pool:  # threads: a kernel ends by itself when this process does
        running = {pool.submit(execute, path): path for path in paths}
        try:
            for done in as_completed(running):
                failed += not report(running[done].stem, done)
        except KeyboardInterrupt:
            os._exit(130)  # without waiting for the chapters that run; what is stored is whole
    return failed


def report(name: str, done: Future[float]) -> bool:
    """Say how a chapter ended, and return whether it ended well."""
    error = done.exception()
    if error is None:
        print(f"{name}: {done.result():.1f} s", flush=True)
    elif isinstance(error, CellExecutionError):
        text = str(error) if sys.stderr.isatty() else ANSI_COLOUR.sub("", str(error))
        print(f"{name}: FAILED, stored outputs kept\n{text}", file=sys.stderr, flush=True)
    else:
        print(f"{name}: FAILED, stored outputs kept: {error}", file=sys.stderr, flush=True)
    return error is None


def chosen(names: list[str], folder: Path) -> list[Path]:
    """Return the chapters with the given names (with or without path and suffix), or all of them."""
    chapters = {path.stem: path for path in sorted(folder.glob("[0-9]*.ipynb"))}
    unknown = [name for name in names if Path(name).stem not in chapters]
    if unknown:
        raise SystemExit(f"no such chapter: {', '.join(unknown)}; there are: {', '.join(chapters)}")
    return [chapters[Path(name).stem] for name in names] or list(chapters.values())


def at_least_one(text: str) -> int:
    """Return a count that was typed."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, got {text!r}")
    return int(text)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*", help="names such as 06-attention; all if none is given")
    parser.add_argument("--all", action="store_true", help="run them even if nothing changed")
    parser.add_argument("--check", action="store_true", help="run nothing; exit 1 if any is stale")
    parser.add_argument("--jobs", type=at_least_one, default=2, help="how many at a time (default 2)")
    options = parser.parse_args()
    paths = chosen(options.chapters, ROOT / "notebooks")
    todo = paths if options.all else stale(paths)
    if options.check:
        print("\n".join(f"stale: {path.stem}" for path in todo) or f"all {len(paths)} chapters are up to date")
        return bool(todo)
    print(
        f"{len(paths) - len(todo)} of {len(paths)} chapters are up to date" + (f"; running {len(todo)}" if todo else "")
    )
    failed = run_all(todo, options.jobs)
    remove_orphans(ROOT)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
