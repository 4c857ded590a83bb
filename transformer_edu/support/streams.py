"""Standard output and error that outlive their readers: a training goes on when nobody looks any more."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from transformer_edu.support.output import discard


class LastingStream(io.TextIOBase):
    """Passes text on while somebody takes it; what nobody takes (a closed pipe or terminal, a full disk) is lost."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream  # None where it was closed before the program began

    def write(self, text: str) -> int:
        """Pass text on."""
        self._try(lambda stream: stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Pass on what is held back."""
        self._try(lambda stream: stream.flush())

    def _try(self, action: Callable[[Any], Any]) -> None:
        if self._stream is None:
            return
        try:
            action(self._stream)
        except (OSError, ValueError):
            discard(self._stream)  # what it still holds, too
            self._stream = None

    def isatty(self) -> bool:
        """Whether a person looks."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    def fileno(self) -> int:
        """The number of the file behind it; an error where there is none."""
        return super().fileno() if self._stream is None else self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What the stream behind it can write."""
        return getattr(self._stream, "encoding", None) or "utf-8"


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Inside, nothing that is printed can end the program."""
    with redirect_stdout(LastingStream(sys.stdout)), redirect_stderr(LastingStream(sys.stderr)):
        yield
