"""Sampling: as often as the model finds a token probable, and never what was left out."""

import pytest
import torch

from tests.properties.models import BOS, EOS, PAD, SOURCE, force_scores, lively_model, small_model
from tests.unit.conftest import refusals
from transformer_edu import greedy_search
from transformer_edu.decoding.sampling import sample, sampling_probabilities

pytestmark = pytest.mark.usefixtures("at_readers_speed")
LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0])
PLAIN = torch.softmax(LOGITS, dim=-1)


@pytest.mark.long
def test_tokens_are_drawn_as_often_as_they_are_probable():
    model = force_scores(small_model(), {6: 3.0, 5: 2.0, EOS: 1.0})
    with torch.no_grad():
        logits = model(SOURCE[:1], torch.tensor([[BOS]]))[0, 0]
    logits[[PAD, BOS]] = -torch.inf
    expected = torch.softmax(logits, dim=-1)
    rows = sample(model, SOURCE[:1].expand(20_000, -1), BOS, EOS, 2, generator=torch.Generator().manual_seed(0))
    shares = torch.bincount(rows[:, 1], minlength=len(expected)) / len(rows)
    assert (shares - expected).abs().max() < 0.012


def test_the_same_seed_gives_the_same_answer():
    model = lively_model(0, "pre")
    first, again, other = (
        sample(model, SOURCE, BOS, EOS, 12, generator=torch.Generator().manual_seed(seed)).tolist()
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("options", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}])
def test_the_narrowest_choice_is_greedy_search(options):
    model = lively_model(1, "pre")
    assert torch.equal(sample(model, SOURCE, BOS, EOS, 9, **options), greedy_search(model, SOURCE, BOS, EOS, 9))


def test_temperature_sharpens_and_flattens():
    assert torch.allclose(sampling_probabilities(LOGITS), PLAIN)
    assert sampling_probabilities(LOGITS, 0.5)[0] > PLAIN[0] > sampling_probabilities(LOGITS, 2.0)[0]
    assert torch.allclose(sampling_probabilities(LOGITS, 0.5), torch.softmax(LOGITS * 2, dim=-1))


def test_top_k_keeps_k():
    kept = sampling_probabilities(LOGITS, top_k=2)
    assert torch.allclose(kept, torch.tensor([*(PLAIN[:2] / PLAIN[:2].sum()), 0.0, 0.0]))
    assert torch.allclose(sampling_probabilities(LOGITS, top_k=99), PLAIN)


def test_a_top_p_of_one_leaves_all_of_many_tokens_in():
    logits = 3 * torch.randn(5_000, generator=torch.Generator().manual_seed(0))
    assert (sampling_probabilities(logits, top_p=1.0) > 0).all()
    assert (sampling_probabilities(logits, top_p=1 - 1e-6) > 0).sum() < 5_000


@pytest.mark.parametrize(("top_p", "kept"), [(0.5, 1), (0.65, 2), (0.9, 3), (0.99, 4), (1.0, 4)])
def test_top_p_keeps_the_fewest_that_reach_p_of_what_top_k_leaves(top_p, kept):
    alone = sampling_probabilities(LOGITS.flip(0), top_k=3, top_p=0.65)  # of what top_k leaves, the first has 0.664
    assert int((alone > 0).sum()) == 1
    found = sampling_probabilities(LOGITS.flip(0), top_p=top_p)  # probabilities 0.644, 0.237, 0.087, 0.032
    assert int((found > 0).sum()) == kept
    assert found.sum() == pytest.approx(1)


test_bad_input_is_named = refusals(
    (lambda: sampling_probabilities(LOGITS, 0.0), ValueError, "temperature must be a finite number greater than 0"),
    (lambda: sampling_probabilities(LOGITS, top_k=0), ValueError, "top_k must be at least 1, got 0"),
    (lambda: sampling_probabilities(LOGITS, top_p=1.5), ValueError, r"top_p must be in \(0, 1\], got 1.5"),
    (lambda: sampling_probabilities(LOGITS, top_p=0.0), ValueError, "top_p must be a finite number greater than 0"),
)
