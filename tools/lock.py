"""Resolve requirements.in to requirements.txt: exact versions, plain names, `-e .` last.

pip resolves without installing; packages that only a GPU build of torch brings are left to torch itself,
so that the same file serves machines with and without a GPU.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
TORCH_BRINGS = re.compile(r"^(nvidia-|cuda-|triton)")
HEADER = "# The exact environment that builds and tests the book. Written by `make lock` from requirements.in.\n"


def resolve() -> list[str]:
    """Return `name==version` lines, sorted, as pip resolves requirements.in on an empty environment."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    report = subprocess.run([*command, "-r", "requirements.in"], cwd=ROOT, check=True, capture_output=True, text=True)
    found = [item["metadata"] for item in json.loads(report.stdout)["install"]]
    pins = {re.sub(r"[-_.]+", "-", package["name"]).lower(): package["version"].split("+")[0] for package in found}
    pins.pop("transformer-edu")
    return [f"{name}=={version}" for name, version in sorted(pins.items()) if not TORCH_BRINGS.match(name)]


def main() -> None:
    """Write requirements.txt."""
    lines = resolve()
    write_atomically(ROOT / "requirements.txt", (HEADER + "\n".join(lines) + "\n-e .\n").encode())
    print(f"requirements.txt: {len(lines)} packages")


if __name__ == "__main__":
    main()
