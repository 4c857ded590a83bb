"""References that are not the package's own functions agree with these, and no trial is decided by a tie."""

import itertools
import math

import pytest
import torch

from tests.properties.models import BOS, EOS, PAD, SOURCE, lively_model
from tests.unit.checked import COMPONENTS, OWN
from transformer_edu.book.exercises.checks.components.beam_search import best_answer
from transformer_edu.book.exercises.checks.engine.trial import observe
from transformer_edu.decoding.beam import beam_search

pytestmark = pytest.mark.long


def of_model(model, source):
    """What a model says after some ids, as the dictionary that `best_answer` asks for."""

    @torch.no_grad()
    def next_log_probs(ids):
        logits = model(source[None], torch.tensor([ids]))[0, -1]
        logits[[PAD, BOS]] = -torch.inf
        return dict(enumerate(torch.log_softmax(logits, dim=-1).tolist()))

    return next_log_probs


@pytest.mark.parametrize("seed", range(3))
def test_the_best_answer_is_the_first_of_beam_search(seed, at_readers_speed):
    model = lively_model(seed, "pre").eval()
    winners = set()
    for beam_size, alpha, max_len in itertools.product((1, 2, 9), (0.0, 0.6, 1.5), (3, 8)):
        found = beam_search(model, SOURCE, BOS, EOS, max_len, beam_size, alpha)
        for row, (expected, *_) in zip(SOURCE, found, strict=True):
            ids, log_prob = best_answer(of_model(model, row[row != PAD]), BOS, EOS, max_len, beam_size, alpha)
            assert tuple(ids) == expected.ids
            assert log_prob == pytest.approx(expected.log_prob, abs=1e-5)  # summed in float32 there
            winners.add(expected.ids)
    assert len(winners) > len(SOURCE), "the settings make no difference here, so nothing was tested"


def nudged_beam(next_log_probs, *settings, at):
    def moved(ids):
        return {token: p + at * math.sin(7 * token + len(ids)) for token, p in next_log_probs(ids).items()}

    return best_answer(moved, *settings)


def nudged_logits(logits, *settings, at):
    places = torch.arange(logits.numel()).view_as(logits)
    return OWN["sampling probabilities"](logits + 10 * at * torch.sin(7.0 * places + 1), *settings)


@pytest.mark.parametrize("at", [1e-4, -1e-4])
@pytest.mark.parametrize(
    ("name", "nudged", "choice"),
    [
        ("beam search", nudged_beam, lambda seen: seen["ids"]),
        ("sampling probabilities", nudged_logits, lambda seen: (seen > 0).tolist()),
    ],
)
def test_no_trial_is_decided_by_a_tie(name, nudged, choice, at):
    for trial in COMPONENTS[name].trials:
        if trial.title != "the logits after the call":
            seen = observe(trial, lambda *given: nudged(*given, at=at))
            assert choice(seen) == choice(observe(trial, OWN[name])), trial.title
