"""Training from the command line: compiled, without memory, and whoever reads what it prints, or nobody."""

import io
import json
import os
import subprocess
import sys

import pytest

from tests.unit.command import ENVIRONMENT, as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.book.commands.main import main
from transformer_edu.support.streams import lasting_streams

pytestmark = pytest.mark.usefixtures("at_readers_speed")


COMPILED = """
import sys
from functools import partial
import torch
from transformer_edu.book.commands.main import main

graphs = []

def backend(graph, inputs):  # takes what was traced as it is: PyTorch's own code generator is not on trial
    graphs.append(graph)
    return graph.forward

torch.compile = partial(torch.compile, backend=backend)
for name, more in (("plain", []), ("compiled", ["--compile"])):
    main(["train", "--quiet", "--out", f"{sys.argv[1]}/{name}", *sys.argv[2:], *more])
    print(name, len(graphs), file=sys.stderr)
"""


@pytest.mark.weekly
@pytest.mark.slow
def test_a_compiled_run_follows_the_plain_one(brief_text, tmp_path):
    options = as_arguments({**SMALL, "steps": 2, "every": 1, "average": 1, "dropout": 0.0, **brief_text})
    command = [sys.executable, "-c", COMPILED, tmp_path, *options]
    done = subprocess.run(command, **ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    losses = {}
    for name in ("plain", "compiled"):
        lines = map(json.loads, (tmp_path / name / "log.jsonl").read_text().splitlines())
        losses[name] = [line["loss"] for line in lines if "loss" in line]
    assert losses["compiled"] == pytest.approx(losses["plain"], abs=1e-3)
    assert len(losses["plain"]) == 2
    graphs = dict(line.split() for line in done.stderr.splitlines() if line.startswith(("plain ", "compiled ")))
    assert graphs["plain"] == "0"
    assert int(graphs["compiled"]) >= 1


def test_out_of_memory_says_what_to_do(monkeypatch, brief_text, tmp_path, capsys):
    def no_memory(*given):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("transformer_edu.runs.steps.StepMaker.take", no_memory)
    with pytest.raises(SystemExit):
        main(["train", "--quiet", "--out", str(tmp_path), *as_arguments({**SMALL, **brief_text})])
    assert "out of memory with batches in --accumulate 1 part" in capsys.readouterr().err


def unread():
    """A stream whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w", encoding="ascii")


def full():
    return open("/dev/full", "w", encoding="ascii")


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


has_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full here")


@pytest.mark.parametrize(
    "make",
    [unread, pytest.param(full, marks=has_full), closed, lambda: None],
    ids=["unread", "full", "closed", "none"],
)
def test_printing_raises_nothing_when_nobody_can_read(monkeypatch, make):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, make())
    with lasting_streams():
        for stream in (sys.stdout, sys.stderr):
            for _ in range(3):
                print("steps", file=stream, flush=True)
            assert not stream.isatty()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.close()  # flushes, as the end of a program does


def test_what_is_read_arrives(monkeypatch):
    read = io.StringIO()
    monkeypatch.setattr(sys, "stdout", read)
    with lasting_streams():
        print("steps")
        assert sys.stdout.encoding == "utf-8"
    assert sys.stdout is read
    assert read.getvalue() == "steps\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "shell",
    [
        pytest.param('"$@" 2>&1 | head -c 1', id="a reader that leaves"),
        pytest.param('"$@" >&- 2>&-', id="closed", marks=pytest.mark.weekly),
    ],
)
def test_a_training_that_nobody_reads_writes_its_model(brief_text, tmp_path, shell):
    options = as_arguments({**SMALL, "steps": 2, "average": 1, **brief_text})
    command = [sys.executable, "-m", "transformer_edu", "train", "--out", str(tmp_path / "run"), *options]
    script = f"set -o pipefail; {shell}"
    done = subprocess.run(["bash", "-c", script, "bash", *command], **ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "card.json").exists()
    assert (tmp_path / "run" / "tokenizer.json").read_bytes()[:1] == b"{"
