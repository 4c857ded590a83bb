"""Turns: what is short runs each time, and as many commits as there are turns run all that is long, each case once."""

import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.turns import turn_of_this_commit, whose_turn


@dataclass(frozen=True)
class Item:
    nodeid: str
    marks: tuple = ()
    path: Path = Path("tests/unit/test_one.py")

    def get_closest_marker(self, name):
        return name in self.marks or None


def table(name, cases, *marks):
    return [Item(f"tests/unit/test_one.py::{name}[{case}]", marks) for case in range(cases)]


SHORT = [Item("tests/unit/test_one.py::test_quick"), *table("test_three", 3)]
CHAPTER = [Item(f"notebooks/06.ipynb::Cell {cell}", (), Path("notebooks/06.ipynb")) for cell in range(9)]
PROPERTIES = [
    Item(f"tests/properties/test_one.py::test_any[{case}]", (), Path("tests/properties/test_one.py"))
    for case in range(9)
]
SINGLES = [Item(f"tests/unit/test_one.py::test_at_length_{number}", ("long",)) for number in range(40)]
TABLES = [table("test_many", 30), table("test_long_pair", 2, "slow"), table("test_pages", 9, "browser")]
ALL = [*SHORT, *CHAPTER, *PROPERTIES, *SINGLES, *(item for cases in TABLES for item in cases)]


@pytest.mark.parametrize("turns", [2, 8, 24])
def test_as_many_commits_as_turns_run_all_and_each_what_is_short(turns):
    runs = [whose_turn(ALL, turns, turn, ["properties"]) for turn in range(1000, 1000 + turns)]
    counted = Counter(item for run in runs for item in run)
    assert counted.keys() == set(ALL)
    assert {counted[item] for item in (*SHORT, *CHAPTER, *PROPERTIES)} == {turns}
    assert {counted[item] for item in SINGLES} == {1}
    for cases in TABLES:
        assert all(set(run) & set(cases) for run in runs), "no run goes without a case of each table"
        if len(cases) >= turns:
            assert {counted[item] for item in cases} == {1}
    assert whose_turn(ALL, turns, 7) == whose_turn(ALL, turns, 7 + turns * 9 * 30)


def git(folder, *command):
    somebody = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", *somebody, *command], cwd=folder, check=True, capture_output=True)


def test_the_turn_is_the_number_of_commits_and_in_a_shallow_clone_a_lot(tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    assert turn_of_this_commit(whole) == 0
    git(whole, "init", "--quiet")
    assert turn_of_this_commit(whole) == 0
    lots = set()
    for number in (1, 2, 3):
        git(whole, "commit", "--quiet", "--allow-empty", "--message", str(number))
        assert turn_of_this_commit(whole) == number
        git(tmp_path, "clone", "--quiet", "--depth", "1", whole.as_uri(), f"shallow {number}")
        lots.add(turn_of_this_commit(tmp_path / f"shallow {number}") % 2**20)
    assert len(lots) == 3
