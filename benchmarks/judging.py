"""Seconds of judging a right component, after imports: each kind's median and slowest; and the first word.

The components are the tests' right ones, in many people's styles. A command says which kind it takes a component for
before it judges it: that is its first word, counted from the command's start, imports and all.
"""

import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from types import ModuleType

import torch
from shared.report import arguments, save, table

from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.judge.calculator import Calculator
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.verdict import judge

COLUMNS = ["kind", "components", "median", "slowest"]
RIGHT = Path(__file__).resolve().parents[1] / "tests" / "judge" / "components" / "right"


def read(path: Path) -> ModuleType:
    """The module that stands in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def seconds_of(path: Path) -> float:
    """How long the verdict on a component takes."""
    kind, name = (re.search(rf"{word}:\s*([\w.]+)", path.read_text(encoding="utf-8")) for word in ("kind", "name"))
    assert kind is not None
    assert name is not None
    with laboratory():
        component = getattr(read(path), name[1])
        start = time.perf_counter()
        verdict = judge(KINDS[kind[1]], Calculator(KINDS[kind[1]], component))
        taken = time.perf_counter() - start
    if not verdict.right:
        raise ValueError(f"RIGHT must hold right components, but {path.name} is judged as wrong: {verdict.fault}")
    return taken


def first_word(path: Path) -> float:
    """Seconds from a command's start to its first line."""
    start = time.perf_counter()
    command = [sys.executable, "-u", "-m", "transformer_edu", "check", f"{path}:causal_mask"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "judged as" in process.stderr.readline()
        taken = time.perf_counter() - start
        process.kill()
    return taken


def main() -> None:
    """Judge them all."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else None).parse_args()
    torch.set_num_threads(options.threads)
    each: dict[str, list[float]] = {}
    for path in sorted(RIGHT.glob("*.py"))[:: 20 if options.quick else 1]:
        each.setdefault(path.name.partition("__")[0], []).append(seconds_of(path))
    rows = {kind: [len(some), round(median(some), 2), round(max(some), 2)] for kind, some in each.items()}
    words = [first_word(RIGHT / "causal_mask__tril.py") for _ in range(1 if options.quick else 5)]
    table("Seconds of judging", COLUMNS, [[kind, *row] for kind, row in rows.items()])
    print(f"\nfirst word after {median(words):.2f} s")
    save("judging", {"seconds": rows, "first_word": round(median(words), 2)}, options)


if __name__ == "__main__":
    main()
