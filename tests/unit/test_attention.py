"""Attention on numbers that can be checked by hand, and what its module promises."""

import math

import pytest
import torch

from transformer_edu import MultiHeadAttention, hand_example, scaled_dot_product_attention

PATH = pytest.mark.parametrize("need_weights", [True, False], ids=["written-out", "fused"])


def test_hand_example_is_the_one_in_the_book():
    hand = hand_example()
    query, key, value = hand.x @ hand.w_q, hand.x @ hand.w_k, hand.x @ hand.w_v
    scores = query @ key.T
    assert scores.tolist() == [[4, 6, 8], [4, 0, 8], [4, 8, 4]]
    assert math.sqrt(query.shape[-1]) == 2.0
    output, weights = scaled_dot_product_attention(query, key, value)
    share = math.exp(2) / (2 * math.exp(2) + math.exp(4))  # "cat": scores 4, 8, 4 become 2, 4, 2
    expected = torch.tensor([share, 1 - 2 * share, share])
    torch.testing.assert_close(weights[2], expected)
    torch.testing.assert_close(output[2], expected @ value)
    assert hand.tokens[int(weights[2].argmax())] == "black"


def test_hand_example_comes_fresh_each_time():
    hand_example().x.zero_()
    assert hand_example().x.abs().sum() > 0


@PATH
@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4), (4, 1), (3, 1, 1), (2, 1, 1, 4), (2, 3, 4, 1), (2, 3, 4, 4)])
def test_every_mask_that_broadcasts_is_accepted(shape, need_weights):
    torch.manual_seed(0)
    x, mask = torch.randn(2, 3, 4, 6), torch.rand(shape) < 0.6
    expected, _ = scaled_dot_product_attention(x, x, x, mask.expand(2, 3, 4, 4).contiguous())
    output, _ = scaled_dot_product_attention(x, x, x, mask, need_weights=need_weights)
    torch.testing.assert_close(output, expected)


@PATH
@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (2, 3, 2)])
def test_any_leading_dimensions_work(leading, need_weights):
    query, key, value = torch.randn(*leading, 4, 6), torch.randn(*leading, 5, 6), torch.randn(*leading, 5, 3)
    output, weights = scaled_dot_product_attention(query, key, value, need_weights=need_weights)
    assert output.shape == (*leading, 4, 3)
    assert (weights is not None) == need_weights
    assert weights is None or weights.shape == (*leading, 4, 5)


@PATH
def test_large_scores_stay_finite(need_weights):
    x = 1e4 * torch.randn(1, 1, 4, 8)
    output, _ = scaled_dot_product_attention(x, x, x, torch.eye(4).bool(), need_weights=need_weights)
    torch.testing.assert_close(output, x)


def test_recording_runs_the_written_out_path_and_not_recording_the_fused_one(monkeypatch):
    calls = []
    fused = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k)
    )
    attention, x, seen = MultiHeadAttention(8, 2), torch.randn(1, 3, 8), []
    unrecorded = attention(x, x, x)
    assert len(calls) == 1
    attention.recorder = seen.append
    torch.testing.assert_close(attention(x, x, x), unrecorded)
    assert (len(calls), len(seen)) == (1, 1)
    assert seen[0].shape == (1, 2, 3, 3)
