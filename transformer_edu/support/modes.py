"""A model in evaluation or training mode for a while; threads that want the same mode share it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Lock, get_ident

from torch import nn


@dataclass(eq=False)
class _Stay:
    """A mode, the threads that are in it, and the modes to put back when the last one leaves."""

    training: bool
    before: dict[nn.Module, bool]
    threads: list[int] = field(default_factory=list)


_lock = Lock()
_stays: dict[nn.Module, list[_Stay]] = {}  # of each model that is in a block, the outermost first


def evaluation_mode(model: nn.Module) -> AbstractContextManager[None]:
    """Switch dropout off inside the `with` block; put every part's mode back afterwards, also after an error.

    Threads may be in such blocks of one model at the same time: the last to leave puts the modes back. A thread that
    asks for one mode while another thread relies on the other gets a RuntimeError.
    """
    return _mode(model, training=False)


def training_mode(model: nn.Module) -> AbstractContextManager[None]:
    """Switch dropout on inside the `with` block; all else as in `evaluation_mode`."""
    return _mode(model, training=True)


@contextmanager
def _mode(model: nn.Module, training: bool) -> Iterator[None]:
    thread = get_ident()
    with _lock:
        stay = _enter(model, training, thread)
        stay.threads.append(thread)
    try:
        yield
    finally:
        with _lock:
            stay.threads.remove(thread)
            if not stay.threads:
                _leave(model, stay)


def _enter(model: nn.Module, training: bool, thread: int) -> _Stay:
    stays = _stays.get(model, [])
    if stays and set(stays[-1].threads) != {thread}:  # another thread relies on the mode as it is
        if stays[-1].training != training:
            wanted, present = ("training", "evaluation") if training else ("evaluation", "training")
            raise RuntimeError(
                f"model must not change to {wanted} mode while another thread relies on its {present} mode: "
                "wait for that thread, or give this one a copy (copy.deepcopy)"
            )
        return stays[-1]
    stay = _Stay(training, {module: module.training for module in model.modules()})
    model.train(training)
    _stays.setdefault(model, []).append(stay)
    return stay


def _leave(model: nn.Module, stay: _Stay) -> None:
    stays = _stays[model]
    after = stays[stays.index(stay) + 1 :]
    stays.remove(stay)
    if after:  # another thread is still in an inner block: it will put back what this one found
        after[0].before = stay.before
        return
    for module, was_training in stay.before.items():
        module.training = was_training
    if not stays:
        del _stays[model]
