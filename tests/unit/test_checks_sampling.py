"""The check of sampling probabilities: submissions of every kind are told apart."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.unit.checked import accepts, names, refuses
from transformer_edu.checks.components.sampling_probabilities import COMPONENT
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


test_right_probabilities_pass = accepts(
    {
        "sampling probabilities": [
            filtered,
            row_by_row,
            lambda *given: sampling_probabilities(*given).tolist(),
            lambda logits, *rest: sampling_probabilities(logits.double(), *rest),
        ]
    }
)


def test_no_trial_is_decided_by_a_tie_or_by_rounding():
    for trial in COMPONENT.trials[:-1]:
        seen = observe(trial, sampling_probabilities)
        for seed in range(4):

            def nudged(logits, *rest, seed=seed):
                noise = torch.randn(logits.shape, generator=torch.Generator().manual_seed(seed))
                return sampling_probabilities(logits + 1e-3 * noise, *rest)

            assert torch.equal(observe(trial, nudged) > 0, seen > 0), trial.title


def not_put_back(logits, temperature, top_k, top_p):
    p = sampling_probabilities(logits, temperature, top_k)
    if top_p is None:
        return p
    p = p.sort(descending=True).values
    p = torch.where(p.cumsum(-1) - p < top_p, p, 0.0)
    return p / p.sum(-1, keepdim=True)


def by_assignment(logits, temperature, top_k, top_p):
    p = filtered(logits, temperature, top_k, top_p)
    logits[p == 0] = -torch.inf
    return F.softmax(logits / temperature, dim=-1)


test_mistakes_as_readers_write_them = names(
    {
        "sampling probabilities": {
            "top_p leaves out the token with which the sum": lambda *given: filtered(*given, shift=False),
            "the logits that are cut are set to 0": lambda *given: filtered(*given, cut=0.0),
            "top_k larger than the vocabulary": lambda logits, t, k, p: sampling_probabilities(
                logits, t, None if k is None else logits.topk(k).values.shape[-1], p
            ),
            "the probabilities come back in sorted order": not_put_back,
            "the logits are multiplied": lambda logits, temperature, *rest: filtered(logits, 1 / temperature, *rest),
            "the logits are changed in place": by_assignment,
        }
    }
)
test_an_answer_of_the_wrong_kind_is_named = refuses(
    {
        "sampling probabilities": [
            (None, "returned None, expected a tensor: is the `return` missing?"),
            ("no", "returned a str, expected a tensor"),
            (torch.ones(2, 2), "shape (2, 2)"),
            (torch.full((3,), math.nan), "none of the known mistakes"),
        ]
    }
)
