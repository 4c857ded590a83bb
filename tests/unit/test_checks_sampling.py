"""The check of sampling probabilities: submissions of every kind are told apart."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.unit.diagnosis import diagnosis
from transformer_edu import checks
from transformer_edu.checks.components.sampling_probabilities import SAMPLING
from transformer_edu.checks.engine.trial import observe
from transformer_edu.decoding.sampling import sampling_probabilities

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def filtered(logits, temperature, top_k, top_p, *, shift=True, ascending=False, cut=-math.inf):
    """The widely copied filter: a mask in sorted order, shifted by one, scattered back."""
    logits = logits / temperature
    if top_k is not None:
        least = torch.topk(logits, min(top_k, logits.size(-1))).values[..., -1, None]
        logits = logits.masked_fill(logits < least, cut)
    if top_p is not None:
        ordered, places = torch.sort(logits, descending=not ascending)
        remove = F.softmax(ordered, dim=-1).cumsum(dim=-1) > top_p
        if shift:
            remove[..., 1:] = remove[..., :-1].clone()
            remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, places, remove), cut)
    return F.softmax(logits, dim=-1)


def row_by_row(logits, temperature, top_k, top_p):
    """Plain numpy, one row at a time."""
    rows = logits.numpy().astype(float).reshape(-1, logits.shape[-1]) / temperature
    result = np.zeros_like(rows)
    for row, own in zip(rows, result, strict=True):
        order = np.argsort(-row)[:top_k]
        p = np.exp(row[order] - row.max())
        p /= p.sum()
        if top_p is not None:
            count = int(np.searchsorted(np.cumsum(p), top_p)) + 1
            order, p = order[:count], p[:count] / p[:count].sum()
        own[order] = p
    return result.reshape(logits.shape)


def as_lists(*given):
    return sampling_probabilities(*given).tolist()


def in_double(logits, *rest):
    return sampling_probabilities(logits.double(), *rest)


@pytest.mark.parametrize("fn", [sampling_probabilities, filtered, row_by_row, as_lists, in_double])
def test_right_probabilities_pass(fn):
    checks.check_sampling_probabilities(fn)


def test_no_trial_is_decided_by_a_tie_or_by_rounding():
    for trial in SAMPLING.trials[:-1]:
        seen = observe(trial, sampling_probabilities)
        for seed in range(4):

            def nudged(logits, *rest, seed=seed):
                noise = torch.randn(logits.shape, generator=torch.Generator().manual_seed(seed))
                return sampling_probabilities(logits + 1e-3 * noise, *rest)

            assert torch.equal(observe(trial, nudged) > 0, seen > 0), trial.title


def by_index(logits, temperature, top_k, top_p):
    if top_k is not None:
        least = logits.sort(dim=-1, descending=True).values[..., min(top_k, logits.shape[-1] - 1), None]
        logits = torch.where(logits < least, -torch.inf, logits)
    return sampling_probabilities(logits, temperature, None, top_p)


def not_put_back(logits, temperature, top_k, top_p):
    p = sampling_probabilities(logits, temperature, top_k)
    if top_p is None:
        return p
    p = p.sort(descending=True).values
    p = torch.where(p.cumsum(-1) - p < top_p, p, 0.0)
    return p / p.sum(-1, keepdim=True)


def without_a_sum(logits, temperature, top_k, top_p):
    p = F.softmax(logits / temperature, dim=-1)
    if top_k is not None:
        p = p * (p >= p.topk(min(top_k, p.shape[-1])).values[..., -1:])
    if top_p is not None:
        total = p.sum(-1, keepdim=True)
        p = p * (filtered(logits, temperature, top_k, top_p) > 0) * (total > 0)
    return p


def by_assignment(logits, temperature, top_k, top_p):
    p = filtered(logits, temperature, top_k, top_p)
    logits[p == 0] = -torch.inf
    return F.softmax(logits / temperature, dim=-1)


READERS = {
    "top_p leaves out the token with which the sum reaches p": lambda *given: filtered(*given, shift=False),
    "the logits that are cut are set to 0": lambda *given: filtered(*given, cut=0.0),
    "top_k keeps one token too many": by_index,
    "top_k larger than the vocabulary": lambda logits, t, k, p: sampling_probabilities(
        logits, t, None if k is None else logits.topk(k).values.shape[-1], p
    ),
    "the probabilities come back in sorted order": not_put_back,
    "the row is not normalized again": without_a_sum,
    "the temperature has no effect": lambda logits, temperature, top_k, top_p: filtered(logits, 1.0, top_k, top_p),
    "the logits are multiplied": lambda logits, temperature, *rest: filtered(logits, 1 / temperature, *rest),
    "the logits are changed in place": by_assignment,
}


@pytest.mark.parametrize("name", READERS)
def test_probabilities_as_readers_write_them(name):
    assert diagnosis(checks.check_sampling_probabilities, READERS[name]).startswith(name)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (None, "returned None, expected a tensor: is the `return` missing\\?"),
        ("no", "returned a str, expected a tensor"),
        (torch.ones(2, 2), r"shape \(2, 2\)"),
        (torch.full((3,), math.nan), "none of the known mistakes"),
    ],
)
def test_what_cannot_be_probabilities_is_named(result, says):
    with pytest.raises(checks.CheckFailed, match=says) as failure:
        checks.check_sampling_probabilities(lambda *given: result)
    assert failure.value.mistake is None


def test_other_faults_are_said_plainly():
    with pytest.raises(checks.CheckFailed, match="takes 1 positional argument but 4 were given"):
        checks.check_sampling_probabilities(lambda logits: logits)
    with pytest.raises(checks.CheckFailed, match="none of the known mistakes"):
        checks.check_sampling_probabilities(lambda logits, *rest: torch.log_softmax(logits, dim=-1))
    with pytest.raises(TypeError, match="without calling it"):
        checks.check_sampling_probabilities(torch.ones(3))


def test_what_is_not_written_yet_is_said_to_be_so():
    def sampling(*given):
        raise NotImplementedError

    with pytest.raises(checks.CheckFailed, match="Not written yet"):
        checks.check_sampling_probabilities(sampling)
