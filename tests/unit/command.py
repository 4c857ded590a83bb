"""What it takes to run `transformer-edu`, in a process of its own or in this one."""

import os
from typing import Any

from tests.conftest import ROOT

ENVIRONMENT: dict[str, Any] = {
    "cwd": ROOT,
    "env": {**os.environ, "OMP_NUM_THREADS": "1", "TRANSFORMER_EDU_DEVICE": "cpu"},
}


def as_arguments(options):
    """{"d_model": 16, "train": ("a", "b")} as --d-model 16 --train a b."""
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", *(map(str, value) if isinstance(value, tuple) else [str(value)])]
    return words
