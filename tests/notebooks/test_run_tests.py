"""`make test` runs both parts whatever the first brings, and its last lines name what failed."""

import sys
from pathlib import Path

import pytest
import run_tests
from run_tests import Outcome, main, read_report, run

SMALL = {"test_good.py": "def test_holds(): pass\n", "test_bad.py": "def test_does_not():\n    assert 1 == 2, 'why'\n"}


@pytest.mark.slow
def test_a_report_counts_what_passed_and_names_what_failed(tmp_path: Path) -> None:
    for name, text in SMALL.items():
        (tmp_path / name).write_text(text)
    outcome = run("tests", (".", "-q", "-p", "no:cacheprovider"), 1, {}, tmp_path)
    assert (outcome.status, outcome.tests) == (1, 2)
    assert str(outcome) == "tests: 1 passed, 1 failed\n  test_bad::test_does_not: AssertionError: why"


def test_a_run_that_ended_before_its_first_test_is_no_success(tmp_path: Path) -> None:
    outcome = read_report("chapters", 4, tmp_path / "missing.xml")
    assert str(outcome) == (
        "chapters: 0 passed, 0 failed, and pytest ended with status 4: its last lines above say why"
    )


def test_a_failure_in_the_first_part_does_not_hide_the_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = {"tests": Outcome("tests", 1, 3, ["a::b: c"]), "chapters": Outcome("chapters", 0, 2, [])}
    monkeypatch.setattr(run_tests, "run", lambda name, *_: outcomes[name])
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    assert main() == 1
    assert capsys.readouterr().out == "tests: 2 passed, 1 failed\n  a::b: c\nchapters: 2 passed, 0 failed\n"
    outcomes["tests"] = Outcome("tests", 0, 3, [])
    assert main() == 0
