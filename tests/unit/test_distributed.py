"""Two processes follow the losses of one; when one dies, the other does not wait forever."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch

from tests.conftest import ROOT
from tests.unit.command import as_arguments, run, start
from tests.unit.conftest import SMALL
from transformer_edu.translator.distributed import Processes

EXACT = {**SMALL, "precision": "float64", "dropout": 0.0, "steps": 20, "every": 1, "average": 1}


def losses_of(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line], [line for line in lines if "validation_loss" in line]


def torchrun(arguments, processes=2):
    command = ["-m", "torch.distributed.run", f"--nproc-per-node={processes}", f"--master-port={free_port()}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRANSFORMER_EDU_DEVICE": "cpu"}
    return subprocess.run(
        [sys.executable, *command, "-m", "transformer_edu", *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"accumulate": 2, "max_tokens": 50}], ids=["plain", "parts of tiny batches"])
def test_two_processes_follow_the_losses_of_one(tmp_path, parallel_text, changes):
    options = as_arguments({**EXACT, **changes, **parallel_text})
    status, _, errors = run(["train", "--quiet", "--out", tmp_path / "one", *options])
    assert status == 0, errors
    two = torchrun(["train", "--quiet", "--out", tmp_path / "two", *options])
    assert two.returncode == 0, two.stderr
    ours, evaluations = losses_of(tmp_path / "two")
    theirs, their_evaluations = losses_of(tmp_path / "one")
    assert len(ours) == 20
    assert ours == pytest.approx(theirs, abs=1e-8)
    assert evaluations == their_evaluations
    card = json.loads((tmp_path / "two" / "card.json").read_text())
    assert card["processes"] == 2


@pytest.mark.slow
def test_in_float32_two_processes_differ_by_rounding_alone(tmp_path, parallel_text):
    options = as_arguments({**EXACT, "precision": "float32", **parallel_text})
    status, _, errors = run(["train", "--quiet", "--out", tmp_path / "one", *options])
    assert status == 0, errors
    two = torchrun(["train", "--quiet", "--out", tmp_path / "two", *options])
    assert two.returncode == 0, two.stderr
    ours, theirs = losses_of(tmp_path / "two")[0], losses_of(tmp_path / "one")[0]
    assert len(ours) == 20
    assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.slow
def test_when_one_process_is_killed_the_other_stops_with_an_error(tmp_path, parallel_text):
    options = as_arguments({**EXACT, "steps": 100_000, "every": 1000, **parallel_text})
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    arguments = ["train", "--quiet", "--out", tmp_path, *options]
    with (
        start(arguments, **shared, RANK="0", LOCAL_RANK="0") as first,
        start(arguments, **shared, RANK="1", LOCAL_RANK="1") as second,
    ):
        try:
            while not (tmp_path / "log.jsonl").exists() and first.poll() is None and second.poll() is None:
                time.sleep(0.1)
            assert (tmp_path / "log.jsonl").exists(), "training never began"
            second.send_signal(signal.SIGKILL)
            _, errors = first.communicate()
            assert first.returncode == 2
            assert "lost the others" in errors
            assert "--resume" in errors
        finally:
            first.kill()
            second.kill()


def test_shares_are_disjoint_and_complete():
    items = list(range(11))
    for size in (1, 2, 3):
        for parts in (1, 2):
            shares = [
                Processes(r, size, torch.device("cpu")).share(items, p, parts)
                for r in range(size)
                for p in range(parts)
            ]
            assert sorted(item for share in shares for item in share) == items
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_process_alone_sums_and_gathers_its_own():
    alone = Processes(0, 1, torch.device("cpu"))
    assert alone.sum(torch.tensor(3.0)) == 3
    assert alone.gather([1, 2]) == [1, 2]
    assert alone.is_main
