"""Standard input, output and error of the commands: UTF-8 in any locale, and whole when one is closed or full."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

PROGRAM = "transformer-edu"


def prepare_streams() -> None:
    """Text goes out as UTF-8 with a line feed after each line, whatever the locale, so that bytes are as they came in.

    A number (0, 1, 2) that was closed is taken by /dev/null: a file that is opened next must not get it, for what is
    meant for people would be written into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for progress bars and warnings, which write without asking)
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")


def say(message: str) -> None:
    """One line for people on standard error."""
    try:
        print(f"{PROGRAM}: {' '.join(message.splitlines())}", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Printing ends quietly when the reader of standard output, such as `head`, has had enough."""
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)


@contextmanager
def named(stream: str) -> Iterator[None]:
    """Errors of the system say that it was standard input, or output, that failed."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), stream) from error


def discard(stream: Any) -> None:
    """Let everything more that a stream is given, and what it still holds, vanish."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def finish_output() -> None:
    """Hand out what was printed; here, for at the interpreter's end an error could not be told any more."""
    if sys.stdout is None:
        return
    try:
        with reader_may_leave():
            sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        say(f"standard output: {error.strerror}")
        sys.exit(2)
