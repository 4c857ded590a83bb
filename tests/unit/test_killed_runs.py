"""A run that is killed again and again ends where an undisturbed one ends, bit for bit."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from tests.unit.command import as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.commands.main import main
from transformer_edu.translator.run_folder import CHECKPOINT, WEIGHTS, RunFolder
from transformer_edu.translator.steps import StepMaker

LONG = {**SMALL, "steps": 24, "every": 2, "average": 2}
CALLS = {"step": (StepMaker, "take"), "line": (RunFolder, "append"), "write": (os, "fsync"), "rename": (os, "replace")}
CALLS["remove"] = (Path, "unlink")
KILLS = (  # each kind before the first checkpoint and after some; a number counts the calls since the last start
    ("step", 2),
    ("line", 2),
    ("write", 3),
    ("rename", 3),
    ("remove", 5),
    ("step", 4),
    ("line", 5),
    ("write", 6),
    ("rename", 7),
    ("remove", 8),
)
FORK = multiprocessing.get_context("fork")  # the libraries are loaded already: a start takes no time


def run_until(arguments, kind, moment):
    """Run a command; before the `moment`-th call of this kind, the process kills itself."""
    left, (owner, name) = [moment], CALLS[kind]
    call = getattr(owner, name)

    def counted(*given, **named):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **named)

    setattr(owner, name, counted)  # in this process alone
    main(arguments)


def exit_status(function, *arguments):
    process = FORK.Process(target=function, args=arguments)
    process.start()
    process.join()
    return process.exitcode


@pytest.mark.slow
def test_a_run_killed_at_every_kind_of_moment_ends_with_the_same_bits(tmp_path, brief_text, as_readers_run_it):
    options = as_arguments({**LONG, **brief_text})
    assert exit_status(main, ["train", "--quiet", "--out", str(tmp_path / "whole"), *options]) == 0
    folder, whole = RunFolder(tmp_path / "killed"), RunFolder(tmp_path / "whole")
    command = ["train", "--quiet", "--resume", "--out", str(folder.path), *options]
    reached = []
    for kind, moment in KILLS:
        assert exit_status(run_until, command, kind, moment) == -signal.SIGKILL, f"the run ended before {kind} {moment}"
        reached.append(max(folder.saved(CHECKPOINT), default=0))
    assert reached[0] == 0, "one kill must come before the first checkpoint"
    assert len(set(reached)) >= 4, "some runs must get to a checkpoint"
    assert exit_status(main, command) == 0
    assert {file.name for file in folder.path.iterdir()} == {file.name for file in whole.path.iterdir()}
    assert folder.saved(WEIGHTS) == whole.saved(WEIGHTS)
    for step in whole.saved(WEIGHTS):
        assert folder.file(WEIGHTS, step).read_bytes() == whole.file(WEIGHTS, step).read_bytes()
    ours, theirs = folder.load(CHECKPOINT, LONG["steps"])[1], whole.load(CHECKPOINT, LONG["steps"])[1]
    assert all((ours[name] == theirs[name]).all() for name in theirs)  # Adam's state too
    assert [line["step"] for line in folder.log()] == [line["step"] for line in whole.log()]
