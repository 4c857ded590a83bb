"""Where a result comes from: the command, the state of the code, the kind of machine, the day."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
THIS = "transformer_edu/support/provenance.py"


def provenance(command: str) -> dict[str, Any]:
    """The facts that stand beside every stored result; nothing that names a person, a host or a folder."""
    return {
        "command": command,
        "commit": current_commit(),
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def current_commit() -> str | None:
    """The commit of the code, with "+changes" if the package or the tools differ from it.

    None outside this project's repository: installed inside another one, the commit would be somebody else's.
    """
    top, _, commit = _git("rev-parse", "--show-toplevel", "HEAD").partition("\n")
    if not commit or Path(top).resolve() != ROOT or not _git("ls-files", "--", THIS):
        return None
    changed = _git("status", "--porcelain", "--", "transformer_edu/*.py", "tools/*.py")
    return commit + ("+changes" if changed else "")


def machine() -> dict[str, Any]:
    """The kind of processor, its cores, the threads that torch used, and the versions that matter."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({platform.machine()})" if names else platform.machine()
