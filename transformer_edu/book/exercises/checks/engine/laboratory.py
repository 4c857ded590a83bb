"""The conditions of every observation: the same in all states of a process, whose own state comes back afterwards."""

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import jaxtyping
import numpy as np
import torch
from torch.overrides import _len_torch_function_stack, _pop_mode, _push_mode


class Switch(NamedTuple):
    """Something that is set once and holds for all code of a process or thread; `reset` as the laboratory wants it."""

    read: Callable[[], Any]
    put: Callable[[Any], object]
    reset: Callable[[], object] = lambda: None


def _switch(read: Callable[[], Any], put: Callable[[Any], object], here: Any) -> Switch:
    return Switch(read, put, partial(put, here))


def _read_anomaly_mode() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _read_cuda_seeds() -> list[torch.Tensor]:
    return torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []


def _read_precision() -> str | None:
    """In how many bits float32 matrices are multiplied; None where that is set for each device by itself."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _put_precision(name: str | None) -> None:
    if name is not None and name != _read_precision():  # setting it anew would set every device
        torch.set_float32_matmul_precision(name)


def _precision() -> list[Switch]:
    """The setting for all devices and, since torch 2.9, the CPU's own."""
    if not hasattr(torch.backends.mkldnn, "matmul"):
        return [_switch(_read_precision, _put_precision, "highest")]
    own = torch.backends.mkldnn.matmul
    read, put = (lambda: own.fp32_precision), partial(setattr, own, "fp32_precision")
    return [Switch(_read_precision, _put_precision), _switch(read, put, "ieee")]


NUMPYS_OWN = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
SWITCHES = [
    _switch(torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    _switch(torch.is_grad_enabled, torch.set_grad_enabled, True),
    _switch(partial(torch.is_autocast_enabled, "cpu"), partial(torch.set_autocast_enabled, "cpu"), False),
    _switch(partial(torch.is_autocast_enabled, "cuda"), partial(torch.set_autocast_enabled, "cuda"), False),
    _switch(partial(torch.get_autocast_dtype, "cpu"), partial(torch.set_autocast_dtype, "cpu"), torch.bfloat16),
    _switch(torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 0),
    _switch(_read_anomaly_mode, lambda both: torch.autograd.set_detect_anomaly(*both), (False, True)),
    *_precision(),
    _switch(np.geterr, lambda kinds: np.seterr(**kinds), NUMPYS_OWN),
    _switch(torch.get_num_threads, torch.set_num_threads, 1),  # for tensors this small, threads only wait
    Switch(lambda: jaxtyping.config.jaxtyping_disable, partial(jaxtyping.config.update, "jaxtyping_disable")),
    Switch(torch.get_rng_state, torch.set_rng_state, partial(torch.default_generator.manual_seed, 0)),
    Switch(_read_cuda_seeds, torch.cuda.set_rng_state_all),
    Switch(np.random.get_state, np.random.set_state, partial(np.random.seed, 0)),
    Switch(random.getstate, random.setstate, partial(random.seed, 0)),
]


@contextmanager
def laboratory() -> Iterator[None]:
    """Whatever the caller or a candidate has set, all code inside starts from one state, and the caller's comes back.

    Gradients on, no inference mode, no autocast, float32, the CPU, one thread, fixed seeds, no warnings.
    """
    found = [(switch, switch.read()) for switch in SWITCHES]
    with warnings.catch_warnings(), torch.inference_mode(False), _no_default_device():
        tidy_up()
        try:
            yield
        finally:
            for switch, value in found:
                switch.put(value)


def tidy_up() -> None:
    """Between two candidates in the laboratory: what the first one has set does not reach the second."""
    for switch in SWITCHES:
        switch.reset()
    torch.set_default_device(None)
    warnings.simplefilter("ignore")


@contextmanager
def _no_default_device() -> Iterator[None]:
    """Neither torch.set_default_device nor `with torch.device(...)` of the caller holds inside.

    torch offers no way to put exactly these two back, so its own record of them is taken away and returned.
    """
    record = torch._GLOBAL_DEVICE_CONTEXT
    default = getattr(record, "device_context", None)
    modes = _take_modes()
    record.device_context = None
    try:
        yield
    finally:
        torch.set_default_device(None)
        _take_modes()
        for mode in reversed(modes):
            _push_mode(mode)
        record.device_context = default


def _take_modes() -> list[Any]:
    """What stands between Python and torch's functions at the moment, `with torch.device(...)` among it."""
    return [_pop_mode() for _ in range(_len_torch_function_stack())]
