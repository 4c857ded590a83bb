"""Foreign code in a process of its own: what it does there is bounded, ended and told in one sentence.

The parent calls `run`, for one answer, or `conversation`, for many. The module that it starts calls, in this order,
`receive`, `lock_down` (after its own imports, before any foreign code), and `answer` or `converse`.

What the child may not do is enforced by the operating system, and by Linux best: see `limits.py`, `landlock.py`,
`seccomp.py`. What is not stopped anywhere: foreign code can *read* every file that the user can read (and print it),
it can keep all processors busy until its time is over, and it runs in the process that answers, so that it could find
the means to answer in its memory and answer by itself. An answer is therefore nothing but a claim. Judge its numbers
out here, and never unpickle it.
"""

import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from transformer_edu.book.sandbox import scratch, wire
from transformer_edu.book.sandbox.inside import answer, converse, lock_down, out_of_memory, receive
from transformer_edu.book.sandbox.limits import Limits
from transformer_edu.support.text import printable

__all__ = [
    "Ended",
    "Limits",
    "Outcome",
    "answer",
    "conversation",
    "converse",
    "lock_down",
    "out_of_memory",
    "receive",
    "run",
]

TO_START = 120.0  # seconds until the child must be locked down: importing torch from a cold disk takes half of that
TICK = 0.05
AFTER_THE_END = 5.0  # seconds for what is still in the pipes
CHUNK = 1 << 16
KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "WINDIR")


@dataclass(frozen=True)
class Outcome:
    """What became of foreign code."""

    answer: bytes | None
    trouble: str | None  # one sentence without a capital or full stop, about "it"; None if there is an answer
    printed: str  # the end of what it printed to stdout and stderr


class Ended(Exception):  # noqa: N818 (what became of somebody else's code is no error of ours)
    """Foreign code gives no more answers; `trouble` says why in one sentence."""

    def __init__(self, trouble: str):
        super().__init__(trouble)
        self.trouble = trouble


def run(module: str, payload: bytes, limits: Limits = Limits()) -> Outcome:  # noqa: B008 (frozen)
    """Run `python -m module` apart, give it `payload`, and wait for its answer or its end.

    Nothing of it is left in the end: no process, no file.
    """
    with _child(module, payload, limits) as child:
        child.send(None)
        trouble = child.trouble()
        child.end()
    answered = None
    if trouble is None:
        try:
            answered = child.last_answer()
        except ValueError as error:
            trouble = str(error)
    trouble = trouble or child.told(answered is not None)
    return Outcome(None if trouble else answered, trouble, child.print_out)


@dataclass
class Conversation:
    """`ask(question)` gives the answer, and raises Ended where none comes; `printed` is full when it is over."""

    ask: Callable[[bytes], bytes]
    printed: str = ""


@contextmanager
def conversation(module: str, payload: bytes, limits: Limits = Limits()) -> Iterator[Conversation]:  # noqa: B008
    """Run `python -m module` apart, give it `payload`, and put questions to it, which it answers with `converse`.

    The time that `limits` gives is that in which it is waited for. Nothing of it is left in the end.
    """
    with _child(module, payload, limits) as child:
        talk = Conversation(child.ask)
        try:
            yield talk
        finally:
            child.end()
            talk.printed = child.print_out


@contextmanager
def _child(module: str, payload: bytes, limits: Limits) -> Iterator["_Child"]:
    token = secrets.token_hex(16)
    with scratch.folder() as folder:
        child = _Child(module, folder, token, limits)
        try:
            child.listen(wire.pack_order(wire.Order(token, limits, os.getpid(), payload)))
            yield child
        finally:
            child.end()


@dataclass
class _Child:
    """The process, and threads that keep its pipes flowing: on Windows nothing else can wait for several pipes."""

    module: str
    folder: Path
    token: str
    limits: Limits
    said: bytearray = field(default_factory=bytearray)
    printed: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.heard, self.started, self.left = threading.Event(), False, self.limits.seconds
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=_environment(self.folder),
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self.threads: list[threading.Thread] = []

    def listen(self, order: bytes) -> None:
        """Send the order, and from now on take what comes."""
        self.send(order)
        self.threads += [
            threading.Thread(target=self._send_all, args=(self.process.stdin,), daemon=True),
            threading.Thread(target=self._hear_answer, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._hear_prints, args=(self.process.stderr,), daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def send(self, data: bytes | None) -> None:
        """Send this as soon as the child takes it; None is the end."""
        self.outbox.put(data)

    def ask(self, question: bytes) -> bytes:
        """The answer to a question; Ended if none comes."""
        self.send(wire.measured(question))
        trouble = self.trouble(lambda: self._first() is not None)
        found = None if trouble else self._first()
        if found is not None:
            self.said[:] = wire.ready(self.token) + found[1]
            return found[0]
        self.end()
        try:
            self.last_answer()
        except ValueError as error:
            trouble = trouble or str(error)
        raise Ended(trouble or self.told(False) or "ended the process itself (exit status 0)")

    def _first(self) -> tuple[bytes, bytes] | None:
        with suppress(ValueError):  # not whole yet
            return wire.unframe(self.token, bytes(self.said))
        return None

    def trouble(self, whole: Callable[[], bool] = lambda: False) -> str | None:
        """Wait for the end of the process or until all is there; a sentence when it has to be ended before."""
        until, began = time.monotonic() + (self.left if self.started else TO_START), time.monotonic()
        while True:
            if self.started and whole():
                self.left -= time.monotonic() - began
                return None
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.0 if self.heard.wait(TICK) else TICK / 10)
                return None
            self.heard.clear()
            if not self.started and wire.ready(self.token) in self.said:
                until, began, self.started = time.monotonic() + self.left, time.monotonic(), True
            if self.too_long:
                return None  # `last_answer` tells
            if time.monotonic() > until:
                allowed = f"stopped after {self.limits.seconds:g} s: an endless loop?"
                return allowed if self.started else "did not start in time"
            if problem := self._beyond():
                return problem

    def _beyond(self) -> str | None:
        """What is more than the limits allow, of what no kernel counts."""
        most = 4 * self.limits.file
        if scratch.holds_more(self.folder, most - scratch.held(self.process.pid, self.folder, self.limits.file)):
            return f"wrote more than {_amount(most)} of files"
        with suppress(OSError):  # only Linux tells
            if len(os.listdir(f"/proc/{self.process.pid}/task")) > self.limits.threads:
                return f"started more than {self.limits.threads} threads"
        return None

    @property
    def too_long(self) -> bool:
        """Whether more came than an answer may be long."""
        return len(self.said) > self.limits.output + wire.AROUND

    def last_answer(self) -> bytes | None:
        """The one answer of a process that has ended; None if there is none.

        Raises:
            ValueError: more than an answer came, or something else; says so in one sentence.
        """
        if self.too_long:
            raise ValueError(f"gave an answer of more than {_amount(self.limits.output)}")
        found = wire.unframe(self.token, bytes(self.said))
        if found is not None and found[1]:
            raise ValueError("answered twice, or not whole")
        return found and found[0]

    @property
    def print_out(self) -> str:
        """The end of what it printed."""
        return self.printed.decode("utf-8", "replace")

    def told(self, answered: bool) -> str | None:
        """One sentence about how the process ended; None if it ended well."""
        return _told(self.process.returncode, answered, self.print_out, self.limits)

    def end(self) -> None:
        """End the process and all that it started, and take what is still in the pipes; again is nothing."""
        self.send(None)
        if sys.platform != "win32":
            with suppress(OSError):  # all gone
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for thread in self.threads:
            thread.join(AFTER_THE_END)
        if not any(thread.is_alive() for thread in self.threads):
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                _close(pipe)

    def _send_all(self, pipe: IO[bytes]) -> None:
        with suppress(OSError):  # it ended before it had read all
            while (data := self.outbox.get()) is not None:
                pipe.write(data)
                pipe.flush()
        _close(pipe)

    def _hear_answer(self, pipe: IO[bytes]) -> None:
        while not self.too_long and (chunk := os.read(pipe.fileno(), CHUNK)):
            self.said += chunk
            self.heard.set()
        self.heard.set()

    def _hear_prints(self, pipe: IO[bytes]) -> None:
        while chunk := os.read(pipe.fileno(), CHUNK):
            self.printed += chunk
            del self.printed[: max(0, len(self.printed) - self.limits.printed)]


def _close(pipe: IO[bytes] | None) -> None:
    if pipe:
        with suppress(OSError):
            pipe.close()


def _environment(folder: Path) -> dict[str, str]:
    """What the child needs to import what we can import, its own folder for everything else, and nobody's secrets."""
    package = os.fspath(Path(__file__).resolve().parents[3])
    found = [os.path.abspath(path) for path in [*sys.path, package]]
    home = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP"), os.fspath(folder))
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    python = {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(found)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",  # what was printed before a hard end is not lost
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",  # twice the same
        "PYTHONFAULTHANDLER": "1",  # says which line a segmentation fault was in
        "CUDA_VISIBLE_DEVICES": "",
        "TORCHDYNAMO_DISABLE": "1",  # `torch.compile` would start a compiler: code runs as it is written
    }
    return {name: os.environ[name] for name in KEPT if name in os.environ} | home | one_thread | python


def _told(status: int, answered: bool, printed: str, limits: Limits) -> str | None:
    """One sentence about how it ended; None if it ended well."""
    if status == 0 and answered:
        return None
    end = printed[-4000:]
    last = end.rstrip().rpartition("\n")[2].strip()
    if last.startswith("MemoryError") or "can't allocate memory" in last or "std::bad_alloc" in end:
        return f"asked for more memory than {_amount(limits.memory)}"
    if status == 1 and "Traceback (most recent call last)" in end:
        return f"failed with {printable(last, 200)}"
    if status >= 0:
        return f"ended the process itself (exit status {status})"
    with suppress(ValueError):  # a real-time signal has no name
        return f"killed by signal {signal.Signals(-status).name}"
    return f"killed by signal {-status}"


def _amount(size: int) -> str:
    """A size in words: 2 GB."""
    unit = next((bits, name) for bits, name in ((30, "GB"), (20, "MB"), (10, "KB"), (0, "bytes")) if size >= 1 << bits)
    return f"{size / (1 << unit[0]):.3g} {unit[1]}"
