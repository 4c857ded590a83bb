"""Run `transformer-edu` in a process of its own, as people do."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.conftest import ROOT

ENVIRONMENT: dict[str, Any] = {
    "cwd": ROOT,
    "env": {**os.environ, "OMP_NUM_THREADS": "1", "TRANSFORMER_EDU_DEVICE": "cpu"},
}


def start(arguments: Sequence[Any], **environment: str) -> subprocess.Popen[str]:
    """Start `python -m transformer_edu ...` with one thread; its output is read through the process."""
    return subprocess.Popen(
        [sys.executable, "-m", "transformer_edu", *map(str, arguments)],
        cwd=ROOT,
        env={**ENVIRONMENT["env"], **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def as_arguments(options: dict[str, Any]) -> list[str]:
    """{"d_model": 16, "train": ("a", "b")} as --d-model 16 --train a b."""
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", *(map(str, value) if isinstance(value, tuple) else [str(value)])]
    return words
