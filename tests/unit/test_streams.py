"""A training goes on to its end whoever reads what it prints, or nobody."""

import io
import os
import subprocess
import sys

import pytest

from tests.unit.command import ENVIRONMENT, as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.commands.streams import lasting_streams


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


@pytest.mark.parametrize("make", [unread, full, closed, lambda: None], ids=["unread", "full", "closed", "none"])
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
@pytest.mark.parametrize("shell", ['"$@" 2>&1 | head -c 1', '"$@" >&- 2>&-'], ids=["a reader that leaves", "closed"])
def test_a_training_that_nobody_reads_writes_its_model(brief_text, tmp_path, shell):
    options = as_arguments({**SMALL, "steps": 2, "average": 1, **brief_text})
    command = [sys.executable, "-m", "transformer_edu", "train", "--out", str(tmp_path / "run"), *options]
    script = f"set -o pipefail; {shell}"
    done = subprocess.run(["bash", "-c", script, "bash", *command], **ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "card.json").exists()
    assert (tmp_path / "run" / "tokenizer.json").read_bytes()[:1] == b"{"
