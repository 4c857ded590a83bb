"""Run every test: first those of tests/, then every chapter; a failure in the first does not hide one in the second.

    python tools/run_tests.py [--jobs 2]

The last lines say how many passed and failed in each, and name every failure. Exits 1 if there is one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from run_notebooks import at_least_one

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests", "--cov=transformer_edu", "--cov-report=term")
CHAPTERS = ("notebooks", "--nbval", "--nbval-current-env")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # two notebooks at a time would wait for each other's threads


@dataclass(frozen=True)
class Outcome:
    """What came of one part: its exit status, how many tests it had, and a line for each that failed."""

    name: str
    status: int
    tests: int
    failures: list[str]

    def __str__(self) -> str:
        failed = len(self.failures)
        head = f"{self.name}: {self.tests - failed:,} passed, {failed} failed"
        if self.status and not failed:
            head += f", and pytest ended with status {self.status}: its last lines above say why"
        return "\n".join([head, *(f"  {line}" for line in self.failures)])


def run(name: str, arguments: tuple[str, ...], jobs: int, environment: dict[str, str], root: Path = ROOT) -> Outcome:
    """Run pytest in a process of its own, and read what it reports."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-n", str(jobs), "--dist", "loadfile", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *arguments, *options]
        status = subprocess.run(command, cwd=root, env={**os.environ, **environment}, check=False).returncode
        return read_report(name, status, report)


def read_report(name: str, status: int, report: Path) -> Outcome:
    """Read pytest's JUnit XML; without one (pytest did not come so far) there are no tests."""
    cases = ET.parse(report).getroot().iter("testcase") if report.exists() else []
    tests, failures = 0, []
    for case in cases:
        tests += case.find("skipped") is None
        for problem in (*case.findall("failure"), *case.findall("error")):
            words = (problem.get("message") or problem.text or "").strip().splitlines() or [problem.tag]
            failures.append(f"{case.get('classname')}::{case.get('name')}: {words[0][:150]}")
    return Outcome(name, status, tests, failures)


def main() -> int:
    """Read the command line and run both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=at_least_one, default=2, help="processes at a time (default 2)")
    jobs = parser.parse_args().jobs
    outcomes = [run("tests", TESTS, jobs, {}), run("chapters", CHAPTERS, jobs, ONE_THREAD)]
    print("\n".join(map(str, outcomes)), flush=True)
    return int(any(outcome.status for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
