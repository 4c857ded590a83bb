"""Several threads record one attention, each its own forward passes."""

from collections.abc import Callable
from threading import Lock, get_ident
from typing import Any

from torch import Tensor

Recorder = Callable[[Tensor], None]
_lock = Lock()


class Recorders:
    """An attention's recorder while it is recorded: weights go to the innermost block of the thread that attends.

    Args:
        before: what recorded the attention until now, and will again.
    """

    def __init__(self, before: Recorder | None) -> None:
        self.before = before
        self.blocks: list[tuple[int, Recorder]] = []  # thread and recorder, the outermost first

    def __call__(self, weights: Tensor) -> None:
        """Hand on weights, which an attention has just computed."""
        blocks = tuple(self.blocks)  # at once: other threads may be opening and closing theirs
        mine = [record for thread, record in blocks if thread == get_ident()]
        if mine:
            mine[-1](weights)
        elif self.before is not None:
            self.before(weights)


def record_weights(attention: Any, record: Recorder) -> Callable[[], None]:
    """Hand the weights of this thread's forward passes to `record`, until the function that is returned is called."""
    block = get_ident(), record
    with _lock:
        if not isinstance(attention.recorder, Recorders):
            attention.recorder = Recorders(attention.recorder)
        recorders = attention.recorder
        recorders.blocks.append(block)

    def stop() -> None:
        with _lock:
            recorders.blocks.remove(block)
            if not recorders.blocks:
                attention.recorder = recorders.before

    return stop
