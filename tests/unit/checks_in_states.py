"""Run all checks in many states of a process: `python -m tests.unit.checks_in_states` prints a line for each state.

Without pytest, whose shape checks inside the package would take most of the time. A state reaches a check only through
the laboratory that all checks share, so each state sees every right candidate and one known mistake of each component,
another one each time; every known mistake is seen in the last state, which is several at once. The checks themselves
are imported in an odd state.
"""

import random
import sys
import warnings
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from io import StringIO

import numpy as np
import torch
from torch.overrides import _get_current_function_mode_stack


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
def several_at_once():
    with ExitStack() as stack:
        for name in ("float64 by default", "meta by default", "inference mode", "autocast"):
            stack.enter_context(STATES[name]())
        yield


STATES = {
    "after an odd session": nullcontext,
    "gradients off": lambda: setting(torch.set_grad_enabled, False, True),
    "inference mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "float64 by default": lambda: setting(torch.set_default_dtype, torch.float64, torch.float32),
    "float16 by default": lambda: setting(torch.set_default_dtype, torch.float16, torch.float32),
    "meta by default": lambda: setting(torch.set_default_device, "meta", None),
    "inside torch.device": lambda: torch.device("meta"),
    "other seeds": other_seeds,
    "warnings as errors": all_warnings_are_errors,
    "deterministic algorithms": lambda: setting(torch.use_deterministic_algorithms, True, False),
    "anomaly detection": lambda: setting(torch.autograd.set_detect_anomaly, True, False),
    "coarse products": lambda: setting(torch.set_float32_matmul_precision, "medium", "highest"),
    "several at once": several_at_once,
}


with several_at_once():
    from tests.unit.checked import OWN, run
    from transformer_edu import checks


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
    """The mistake that the check names and the trial that shows it; "none known" for another mistake, None for none."""
    try:
        run(name, candidate)
    except checks.CheckFailed as failure:
        return failure.mistake.name if failure.mistake else "none known", failure.trial
    return None


def differences(name, mistakes):
    """Where the check of one component says something else than it should, or leaves the state changed."""
    before = state()
    for expected, candidate in {None: OWN[name], **{m.name: m.wrong for m in mistakes}}.items():
        found = verdict(name, candidate)
        if (found and found[0]) != expected:
            yield f"{name}: {found} instead of {expected}"
        if state() != before:
            yield f"{name}: the state has changed after {expected}"


def main():
    found = []
    # all that checks keep is found out here, in an odd session
    with redirect_stdout(StringIO()), torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for name in OWN:
            verdict(name, checks.catalogue(name)[0].wrong)
    for turn, (title, enter) in enumerate(STATES.items()):
        with redirect_stdout(StringIO()), enter():
            lines = []
            for name in OWN:
                every = checks.catalogue(name)
                one = every[turn * len(every) // len(STATES)]
                lines += differences(name, every if enter is several_at_once else [one])
        print(f"{title:26}", "; ".join(lines) or "as it should be", flush=True)
        found += lines
    return len(found)


if __name__ == "__main__":
    sys.exit(main() > 0)
