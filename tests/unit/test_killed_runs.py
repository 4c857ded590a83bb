"""A run that is killed again and again ends where an undisturbed one ends, bit for bit."""

import multiprocessing
import os
import random
import signal
from pathlib import Path

import pytest

from tests.unit.command import as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.commands.main import main
from transformer_edu.translator.run_folder import CHECKPOINT, WEIGHTS, RunFolder
from transformer_edu.translator.steps import StepMaker

LONG = {**SMALL, "steps": 200, "every": 5, "average": 2}
KILLS = 20
MOMENTS = ((StepMaker, "take"), (RunFolder, "append"), (os, "fsync"), (os, "replace"), (Path, "unlink"))
FORK = multiprocessing.get_context("fork")  # the libraries are loaded already: a start takes no time


def run_until(arguments, moment):
    """Run a command; at the `moment`-th call that computes a step or changes a file, this process kills itself."""
    left = [moment]

    def dying(call):
        def counted(*given, **named):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **named)

        return counted

    for owner, name in MOMENTS:  # in this process alone
        setattr(owner, name, dying(getattr(owner, name)))
    main(arguments)


def exit_status(function, *arguments):
    process = FORK.Process(target=function, args=arguments)
    process.start()
    process.join()
    return process.exitcode


@pytest.mark.slow
def test_a_run_killed_twenty_times_ends_with_the_same_bits(tmp_path, brief_text, as_readers_run_it):
    options = as_arguments({**LONG, **brief_text})
    assert exit_status(main, ["train", "--quiet", "--out", str(tmp_path / "whole"), *options]) == 0
    rng, folder = random.Random(0), RunFolder(tmp_path / "killed")
    command = ["train", "--quiet", "--resume", "--out", str(folder.path), *options]
    reached = []
    for _ in range(KILLS):
        status = exit_status(run_until, command, rng.randint(1, 60))  # some 20 from one checkpoint to the next
        assert status == -signal.SIGKILL, "the run must be long enough to be killed twenty times"
        reached += folder.saved(CHECKPOINT)[-1:]
    assert len(set(reached)) >= 3, "some runs must get to a checkpoint"
    assert exit_status(main, command) == 0
    whole = RunFolder(tmp_path / "whole")
    assert {file.name for file in folder.path.iterdir()} == {file.name for file in whole.path.iterdir()}
    assert folder.saved(WEIGHTS) == whole.saved(WEIGHTS)
    for step in whole.saved(WEIGHTS):
        assert folder.file(WEIGHTS, step).read_bytes() == whole.file(WEIGHTS, step).read_bytes()
    ours, theirs = folder.load(CHECKPOINT, LONG["steps"])[1], whole.load(CHECKPOINT, LONG["steps"])[1]
    assert all((ours[name] == theirs[name]).all() for name in theirs)  # Adam's state too
    assert [line["step"] for line in folder.log()] == [line["step"] for line in whole.log()]
