"""A check gives one verdict in every state of the process, and leaves that state as it was."""

import os
import random
import subprocess
import sys
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch.overrides import _get_current_function_mode_stack

from tests.unit.checked import OWN
from tests.unit.checks_in_states import STATES, state, verdict

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


@pytest.mark.weekly
@pytest.mark.slow
def test_right_and_wrong_are_told_apart_in_every_state_which_stays_as_it_was(root):
    command = [sys.executable, "-m", "tests.unit.checks_in_states"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("as it should be") == len(STATES) >= 14


def harmlessly():
    """What a careless candidate sets, and what no later trial must feel."""
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    torch.set_num_threads(2)
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("medium")
    np.seterr(all="raise")
    warnings.simplefilter("error")


def harmfully():
    harmlessly()
    torch.set_grad_enabled(False)
    torch.set_autocast_enabled("cpu", True)
    torch.set_default_device("meta")
    torch.autograd.set_detect_anomaly(True)


def leaving(mess, own):
    """`own`, leaving this mess behind at every call; a class leaves it when it makes a module."""

    def careless(*given, **named):
        result = own(*given, **named)
        mess()
        return result

    return tuple(leaving(mess, part) for part in own) if isinstance(own, tuple) else careless


ODD = ("meta by default", "inside torch.device")  # all reach a check through the laboratory that all checks share
PLACES = [(name, nullcontext) for name in ("softmax", "attention", "split and merge")]
PLACES += [(name, STATES[odd]) for name in ("softmax", "attention") for odd in ODD]


@pytest.mark.parametrize(("name", "inside"), PLACES)
@pytest.mark.long
def test_what_a_candidate_sets_stays_in_the_trial_in_which_it_sets_it(name, inside, capsys):
    with inside():
        before = state()
        assert verdict(name, leaving(harmlessly, OWN[name])) is None
        assert state() == before
        verdict(name, leaving(harmfully, OWN[name]))
        assert state() == before
        assert verdict(name, OWN[name]) is None


def test_a_default_device_can_still_be_set_and_unset_after_a_check_within_two_of_them(capsys):
    for outer, inner in ((STATES["meta by default"], nullcontext), (nullcontext, STATES["inside torch.device"])):
        with outer(), inner():
            verdict("softmax", leaving(harmfully, OWN["softmax"]))
        assert torch.empty(0).device == torch.device("cpu")
        assert not _get_current_function_mode_stack()
