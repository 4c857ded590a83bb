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

LONG = {**SMALL, "steps": 200, "every": 5, "average": 2}
KILLS = 20
FORK = multiprocessing.get_context("fork")  # the libraries are loaded already: a start takes no time


def count_steps(arguments, begun):
    """Run a command; `begun` counts the training steps that have begun."""
    take = StepMaker.take

    def counted(*given):
        begun.value += 1
        return take(*given)

    StepMaker.take = counted  # in this process alone
    main(arguments)


def killed_after(arguments, steps, seconds):
    """Start a run and kill it with SIGKILL so long after so many steps have begun; False if it ended before."""
    begun = FORK.Value("i", 0)
    process = FORK.Process(target=count_steps, args=(arguments, begun))
    process.start()
    deadline = time.monotonic() + 60
    while begun.value < steps and process.is_alive():
        assert time.monotonic() < deadline, f"{begun.value} steps in a minute, expected {steps}"
        time.sleep(0.0005)
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
        # a step takes some 5 ms, an evaluation after each fifth some 100
        moment = rng.randint(1, 15), rng.uniform(0, 0.05)
        assert killed_after(command, *moment), "the run must be long enough to be killed twenty times"
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
