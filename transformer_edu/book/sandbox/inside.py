"""The child's half of the sandbox: take the order, lock the door behind itself, hand the answer out."""

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BufferedIOBase
from pathlib import Path
from typing import NoReturn

from transformer_edu.book.sandbox import kernel, landlock, limits, seccomp, wire

_write, _exit = os.write, os._exit  # foreign code may put something else in their place
_channel: list[tuple[Callable[[], None], Callable[[bytes], None]]] = []  # filled by `receive`, emptied by `answer`
_order: list[wire.Order] = []
_questions: list[BufferedIOBase] = []


def receive() -> bytes:
    """The payload. Call it first: from here on stdout is a place for prints, and stdin is empty.

    Raises:
        EOFError: the parent is gone.
    """
    stream = os.fdopen(os.dup(0), "rb")
    order = wire.read_order(stream)
    _questions.append(stream)
    _die_with(order.parent)
    descriptor = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _channel.append(_speakers(descriptor, order.token))
    _order.append(wire.Order("", order.limits, order.parent, b""))
    return order.payload


def lock_down(readable: Sequence[Path] | None = None) -> list[str]:
    """Give up for good what foreign code must not have. Call it after the imports and before any foreign code.

    The time that the parent allows runs from here.

    Args:
        readable: the folders in which files may still be read; everywhere without it.

    Returns:
        A sentence for each thing that could not be protected on this system.
    """
    order = _order.pop()
    unprotected = limits.hold(order.limits)
    if kernel.ON_LINUX:
        with suppress(OSError):  # then what follows fails as well, and says so
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        with suppress(OSError, KeyError):
            kernel.drop_privileges()
        unprotected += landlock.restrict(Path.cwd(), readable)
    else:
        unprotected.append("Files outside its own folder can be written: only Linux has Landlock.")
        if readable is not None:
            unprotected.append("Every file that you can read can be read: only Linux has Landlock.")
    unprotected += seccomp.restrict()
    _channel[0][0]()
    return unprotected


def converse(reply: Callable[[bytes], bytes]) -> NoReturn:
    """Answer one question after another; at the last the process ends at once, as with `answer`."""
    say, stream = _channel.pop()[1], _questions.pop()
    with suppress(EOFError):
        while True:
            say(reply(wire.read_question(stream)))
    _exit(0)


def answer(data: bytes) -> NoReturn:
    """Hand the answer over and end the process at once: no destructor and no thread of foreign code runs after it.

    Raises:
        RuntimeError: it was handed over before.
    """
    if not _channel:
        raise RuntimeError("the answer was handed over before")
    _channel.pop()[1](data)
    _exit(0)


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out: Python's own, or torch's RuntimeError."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def _speakers(descriptor: int, token: str) -> tuple[Callable[[], None], Callable[[bytes], None]]:
    """What says "ready" and what says the answer; the token is nowhere but in them."""

    def say(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[_write(descriptor, rest) :]

    return lambda: say(wire.ready(token)), lambda data: say(wire.frame(token, data))


def _die_with(parent: int) -> None:
    """Let the kernel end this process when its parent ends (Linux)."""
    if kernel.ON_LINUX:
        with suppress(OSError):
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            _exit(1)
