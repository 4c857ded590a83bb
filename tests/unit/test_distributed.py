"""Two processes follow the losses of one; when one dies, the other does not wait forever."""

import json
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch

from tests.unit.command import ENVIRONMENT, as_arguments, start
from tests.unit.conftest import SMALL
from transformer_edu.commands.main import main
from transformer_edu.translator.distributed import Processes

SHORT = {**SMALL, "dropout": 0.0, "steps": 3, "every": 1, "average": 1}


def losses_of(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line], [line for line in lines if "validation_loss" in line]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "tolerance"),
    [
        ({"precision": "float32"}, 1e-4),
        ({"precision": "float64", "accumulate": 2, "max_tokens": 50}, 1e-8),  # some parts have no sentence
    ],
    ids=["plain", "parts of tiny batches"],
)
def test_two_processes_follow_the_losses_of_one(tmp_path, brief_text, changes, tolerance, as_readers_run_it):
    options = as_arguments({**SHORT, **changes, **brief_text})
    main(["train", "--quiet", "--out", str(tmp_path / "one"), *options])
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}"]
    command = [sys.executable, *torchrun, "-m", "transformer_edu", "train", "--quiet", "--out", tmp_path / "two"]
    two = subprocess.run([*command, *options], **ENVIRONMENT, capture_output=True, text=True, check=False)
    assert two.returncode == 0, two.stderr
    ours, evaluations = losses_of(tmp_path / "two")
    theirs, their_evaluations = losses_of(tmp_path / "one")
    assert len(ours) == 3
    assert ours == pytest.approx(theirs, abs=tolerance)
    if tolerance == 1e-8:
        assert evaluations == their_evaluations
    assert json.loads((tmp_path / "two" / "card.json").read_text())["processes"] == 2


@pytest.mark.slow
def test_when_one_process_is_killed_the_other_stops_with_an_error(tmp_path, brief_text):
    options = as_arguments({**SHORT, "steps": 100_000, "every": 1000, **brief_text})
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


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("parts", [1, 2])
def test_shares_are_disjoint_and_complete(world_size, parts):
    items = list(range(11))
    everybody = [Processes(rank, world_size, torch.device("cpu")) for rank in range(world_size)]
    shares = [one.share(items, part, parts) for one in everybody for part in range(parts)]
    assert sorted(item for share in shares for item in share) == items
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert [one.is_main for one in everybody] == [True, *[False] * (world_size - 1)]


def test_a_process_alone_sums_and_gathers_its_own():
    alone = Processes(0, 1, torch.device("cpu"))
    assert alone.sum(torch.tensor(3.0)) == 3
    assert alone.gather([1, 2]) == [1, 2]
