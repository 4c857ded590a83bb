"""All that can be tried on an accelerator, tried on the one that is here, and one file of what came of it.

    python tools/device_report.py                        # all of it, into build/device-report.json
    python tools/device_report.py --only tests benchmarks --out report.json

The device is the one that `transformer_edu.pick_device` picks (TRANSFORMER_EDU_DEVICE overrides it). The file is
written after each part, so that a run that is cut off keeps what it has. Exit status 1 if anything failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import torch

from transformer_edu.support.device import VARIABLE, check_device_works, pick_device
from transformer_edu.support.files import write_atomically
from transformer_edu.support.provenance import provenance

ROOT = Path(__file__).resolve().parent.parent
PYTEST = ("-m", "pytest", "-q", "--junitxml=RESULT")
PARTS: dict[str, list[tuple[str, ...]]] = {  # commands of this Python; RESULT is a file that they write
    "tests": [(*PYTEST, "-p", "no:nbval", "tests/device")],
    "chapters": [(*PYTEST, "--nbval-lax", "--nbval-current-env", "notebooks")],
    "benchmarks": [("benchmarks/scaling.py", "--out", "RESULT")],
    "recordings": [("tools/make_recordings.py", "--only", "step-times", "--out", "FOLDER")],
}


def device_facts() -> dict[str, Any]:
    """Name, memory and abilities of the device."""
    device = pick_device()
    facts: dict[str, Any] = {"device": str(device), "torch": torch.__version__}
    if device.type == "cuda":
        found = torch.cuda.get_device_properties(device)
        facts |= {"name": found.name, "gigabytes": round(found.total_memory / 1e9, 1), "cuda": torch.version.cuda}
        facts["capability"] = f"{found.major}.{found.minor}"
    return facts


def counted(path: Path) -> dict[str, Any]:
    """What pytest's report says: how many passed, and the names of those that did not, with their first line."""
    cases = list(ElementTree.parse(path).iter("testcase"))
    failed = {}
    for case in cases:
        found = case.find("failure") if case.find("failure") is not None else case.find("error")
        if found is not None:
            failed[f"{case.get('classname')}::{case.get('name')}"] = (found.get("message") or "").split("\n")[0][:300]
    skipped = sum(case.find("skipped") is not None for case in cases)
    return {"passed": len(cases) - len(failed) - skipped, "skipped": skipped, "failed": failed}


def run(command: tuple[str, ...]) -> dict[str, Any]:
    """Run one command on the device; its exit status, seconds, and what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        places = {"RESULT": str(result), "FOLDER": folder}
        words = [word.replace("RESULT", places["RESULT"]).replace("FOLDER", places["FOLDER"]) for word in command]
        began = time.monotonic()
        given = {**os.environ, VARIABLE: str(pick_device()), "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, *words], cwd=ROOT, env=given, capture_output=True, text=True)
        report: dict[str, Any] = {"command": " ".join(["python", *command]), "status": done.returncode}
        report["seconds"] = round(time.monotonic() - began, 1)
        if result.exists():
            report |= counted(result) if "pytest" in command else {"results": json.loads(result.read_text("utf-8"))}
        report |= {path.stem: json.loads(path.read_text("utf-8")) for path in Path(folder).glob("*.json")}
        if done.returncode:
            report["said"] = (done.stdout + done.stderr)[-2000:]
    return report


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Try everything on the device that is here.")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts, in this order")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "device-report.json", help="the file to write")
    options = parser.parse_args(arguments)
    check_device_works()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {**provenance("python tools/device_report.py"), **device_facts(), "parts": {}}
    for name in options.only:
        report["parts"][name] = [run(command) for command in PARTS[name]]
        write_atomically(options.out, (json.dumps(report, indent=1, ensure_ascii=False) + "\n").encode())
        said = [f"{result['status'] or 'well'}, {result['seconds']} s" for result in report["parts"][name]]
        print(f"{name}: ended {'; '.join(said)}", flush=True)
    print(f"wrote {options.out}")
    return int(any(result["status"] for part in report["parts"].values() for result in part))


if __name__ == "__main__":
    sys.exit(main())
