"""Runs of several processes, and runs that are killed: the same losses, the same bits, and nobody waits forever."""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.unit.command import ENVIRONMENT, as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.book.commands.main import main
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.folder import CHECKPOINT, WEIGHTS, RunFolder
from transformer_edu.runs.steps import StepMaker

pytestmark = pytest.mark.usefixtures("at_readers_speed", "brief_answers")
FORK = multiprocessing.get_context("fork")  # the libraries are loaded already: a start takes no time
SHORT = {**SMALL, "dropout": 0.0, "steps": 3, "every": 1, "average": 1}


def losses_of(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line], [line for line in lines if "validation_loss" in line]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def one_of_two(rank, port, arguments):
    """What torchrun starts."""
    os.environ |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": rank, "LOCAL_RANK": rank}
    main(arguments)


def start_two(out, options):
    port, arguments = free_port(), ["train", "--quiet", "--out", str(out), *options]
    two = [FORK.Process(target=one_of_two, args=(rank, port, arguments)) for rank in "01"]
    for process in two:
        process.start()
    return two


def forked(out, options):
    for process in start_two(out, options):
        process.join()
        assert process.exitcode == 0


def under_torchrun(out, options):
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}"]
    command = [sys.executable, *torchrun, "-m", "transformer_edu", "train", "--quiet", "--out", out, *options]
    done = subprocess.run(command, **ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run_two", "changes", "tolerance"),
    [
        pytest.param(under_torchrun, {"precision": "float32"}, 1e-4, marks=pytest.mark.weekly),
        (forked, {"precision": "float64", "accumulate": 2, "max_tokens": 50}, 1e-8),  # some parts have no sentence
    ],
)
def test_two_processes_follow_the_losses_of_one(tmp_path, brief_text, run_two, changes, tolerance):
    options = as_arguments({**SHORT, **changes, **brief_text})
    main(["train", "--quiet", "--out", str(tmp_path / "one"), *options])
    run_two(tmp_path / "two", options)
    (ours, evaluations), (theirs, their_evaluations) = (losses_of(tmp_path / name) for name in ("two", "one"))
    assert len(ours) == 3
    assert ours == pytest.approx(theirs, abs=tolerance)
    if tolerance == 1e-8:
        assert evaluations == their_evaluations
    assert json.loads((tmp_path / "two" / "card.json").read_text())["processes"] == 2


@pytest.mark.slow
def test_when_one_process_is_killed_the_other_stops_with_an_error(tmp_path, brief_text, capfd):
    first, second = start_two(tmp_path, as_arguments({**SHORT, "steps": 100_000, "every": 1000, **brief_text}))
    try:
        while not (tmp_path / "log.jsonl").exists() and first.is_alive() and second.is_alive():
            time.sleep(0.1)
        assert (tmp_path / "log.jsonl").exists(), "training never began"
        second.kill()
        first.join()
        errors = capfd.readouterr().err
        assert first.exitcode == 2, errors
        assert "lost the others" in errors
        assert "--resume" in errors
    finally:
        first.kill()
        second.kill()


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("parts", [1, 2])
def test_shares_are_disjoint_and_complete(world_size, parts):
    items = list(range(11))
    everybody = [Processes(rank, world_size, torch.device("cpu")) for rank in range(world_size)]
    shares = [process.share(items, part, parts) for process in everybody for part in range(parts)]
    assert sorted(item for share in shares for item in share) == items
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert [process.is_main for process in everybody] == [True, *[False] * (world_size - 1)]


LONG = {**SMALL, "steps": 24, "every": 2, "average": 2}
CALLS = {"step": (StepMaker, "take"), "line": (RunFolder, "append"), "write": (os, "fsync"), "rename": (os, "replace")}
CALLS["remove"] = (Path, "unlink")
KILLS = [("step", 2), ("line", 2), ("write", 3), ("rename", 3), ("remove", 5)]  # before the first checkpoint and after
KILLS += [("step", 4), ("line", 5), ("write", 6), ("rename", 7), ("remove", 8)]  # calls since the last start


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


@pytest.mark.weekly
@pytest.mark.slow
def test_a_run_killed_at_every_kind_of_moment_ends_with_the_same_bits(tmp_path, brief_text):
    options = as_arguments({**LONG, **brief_text})
    assert exit_status(main, ["train", "--quiet", "--out", str(tmp_path / "whole"), *options]) == 0
    folder, whole = RunFolder(tmp_path / "killed"), RunFolder(tmp_path / "whole")
    folder.path.mkdir()  # as a run makes it first of all
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
