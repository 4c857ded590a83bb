"""A run that is killed again and again ends where an undisturbed one ends, bit for bit."""

import multiprocessing
import random
import signal
import time

import pytest

from tests.unit.command import as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.cli import main
from transformer_edu.training.run_folder import CHECKPOINT, WEIGHTS, RunFolder
from transformer_edu.training.steps import StepMaker

LONG = {**SMALL, "steps": 600, "every": 5, "average": 2}
KILLS = 20
FORK = multiprocessing.get_context("fork")  # the libraries are loaded already: a start takes no time


def report_training(arguments, began):
    """Run a command; set `began` when its first training step begins."""
    take = StepMaker.take

    def reported(*given):
        began.set()
        return take(*given)

    StepMaker.take = reported  # in this process alone
    main(arguments)


def killed_after(arguments, seconds):
    """Start a run and kill it with SIGKILL so many seconds after its first step began; False if it ended before."""
    began = FORK.Event()
    process = FORK.Process(target=report_training, args=(arguments, began))
    process.start()
    assert began.wait(60)
    time.sleep(seconds)
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def run_to_the_end(arguments):
    process = FORK.Process(target=main, args=(arguments,))
    process.start()
    process.join()
    assert process.exitcode == 0


@pytest.mark.slow
def test_a_run_killed_twenty_times_ends_with_the_same_bits(tmp_path, parallel_text, as_readers_run_it):
    options = as_arguments({**LONG, **parallel_text})
    run_to_the_end(["train", "--quiet", "--out", str(tmp_path / "whole"), *options])
    rng, folder = random.Random(0), RunFolder(tmp_path / "killed")
    command = ["train", "--quiet", "--resume", "--out", str(folder.path), *options]
    reached = []
    for _ in range(KILLS):
        assert killed_after(command, rng.uniform(0, 0.5)), "the run must be long enough to be killed twenty times"
        reached += folder.saved(CHECKPOINT)[-1:]
    assert len(set(reached)) >= 3, "some runs must get to a checkpoint"
    run_to_the_end(command)
    whole = RunFolder(tmp_path / "whole")
    assert folder.saved(WEIGHTS) == whole.saved(WEIGHTS)
    for step in whole.saved(WEIGHTS):
        assert folder.file(WEIGHTS, step).read_bytes() == whole.file(WEIGHTS, step).read_bytes()
    ours, theirs = folder.load(CHECKPOINT, LONG["steps"])[1], whole.load(CHECKPOINT, LONG["steps"])[1]
    assert all((ours[name] == theirs[name]).all() for name in theirs)  # Adam's state too
    assert [line["step"] for line in folder.log()] == [line["step"] for line in whole.log()]
