"""Run all checks in many states of a process: `python -m tests.unit.checks_in_states` prints a line for each state.

Without pytest, whose shape checks inside the package would take most of the time.
"""

import random
import sys
import warnings
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from io import StringIO

import numpy as np
import torch
from torch.overrides import _get_current_function_mode_stack

from tests.unit.checked import CHECKS, OWN
from transformer_edu import checks
from transformer_edu.checks import CheckFailed


@contextmanager
def setting(put, inside, outside):
    put(inside)
    try:
        yield
    finally:
        put(outside)


@contextmanager
def other_seeds():
    torch.manual_seed(123)
    random.seed(123)
    np.random.seed(123)
    yield


@contextmanager
def all_warnings_are_errors():
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


@contextmanager
def after_an_odd_session():
    """All that checks keep was found out without gradients and under autocast."""
    for component in checks._COMPONENTS.values():
        component._seen_before.clear()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for name, check in CHECKS.items():
            with suppress(CheckFailed):
                check(checks.catalogue(name)[0].wrong)
    yield


@contextmanager
def several_at_once():
    with ExitStack() as stack:
        for name in ("float64 by default", "meta by default", "inference mode", "autocast"):
            stack.enter_context(STATES[name]())
        yield


STATES = {
    "gradients off": lambda: setting(torch.set_grad_enabled, False, True),
    "inference mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "float64 by default": lambda: setting(torch.set_default_dtype, torch.float64, torch.float32),
    "float16 by default": lambda: setting(torch.set_default_dtype, torch.float16, torch.float32),
    "meta by default": lambda: setting(torch.set_default_device, "meta", None),
    "inside torch.device": lambda: torch.device("meta"),
    "other seeds": other_seeds,
    "after an odd session": after_an_odd_session,
    "warnings as errors": all_warnings_are_errors,
    "deterministic algorithms": lambda: setting(torch.use_deterministic_algorithms, True, False),
    "anomaly detection": lambda: setting(torch.autograd.set_detect_anomaly, True, False),
    "coarse products": lambda: setting(torch.set_float32_matmul_precision, "medium", "highest"),
    "several at once": several_at_once,
}


def state():
    """What a check could leave changed."""
    numpys = np.random.get_state()
    return {
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "autocast": (*map(torch.is_autocast_enabled, ("cpu", "cuda")), torch.get_autocast_dtype("cpu")),
        "autocast's cache": torch.is_autocast_cache_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": (torch.get_default_device(), torch.empty(0).device, list(_get_current_function_mode_stack())),
        "seeds": (torch.get_rng_state().numpy().tobytes(), random.getstate(), numpys[1].tobytes(), numpys[2:]),
        "threads": torch.get_num_threads(),
        "algorithms": (torch.get_deterministic_debug_mode(), torch.is_anomaly_enabled()),
        "products": torch.get_float32_matmul_precision(),
        "warnings": (list(warnings.filters), np.geterr()),
    }  # fmt: skip


def verdict(name, candidate):
    """The mistake that the check names, "none known" if it finds another one; None if it finds nothing wrong."""
    try:
        CHECKS[name](candidate)
    except CheckFailed as failure:
        return failure.mistake.name if failure.mistake else "none known"
    return None


def differences(component):
    """Where the check says something else than it should, or leaves the state changed; and how many it told apart."""
    before = state()
    candidates = {None: OWN[component]} | {m.name: m.wrong for m in checks.catalogue(component)}
    for expected, candidate in candidates.items():
        found = verdict(component, candidate)
        if found != expected:
            yield f"{component}: {found} instead of {expected}"
        if state() != before:
            yield f"{component}: the state has changed after {expected}"


def main():
    found = []
    for name, enter in STATES.items():
        with redirect_stdout(StringIO()), enter():
            here = [line for component in checks.components() for line in differences(component)]
        print(f"{name:26}", "; ".join(here) or "as it should be", flush=True)
        found += here
    return len(found)


if __name__ == "__main__":
    sys.exit(main() > 0)
