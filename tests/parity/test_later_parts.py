"""Parts of later models against formulas written by hand: rotary positions, gated feed-forward, shared keys, a bias."""

import pytest
import torch
import torch.nn.functional as F

from transformer_edu import MultiHeadAttention, causal_mask, checks, record_attention, scaled_dot_product_attention
from transformer_edu.parts import GatedFeedForward, RotaryPositions

PAIRS = ["neighbours", "halves"]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def in_one_order(x, pairs):
    """The two entries of each pair side by side, as neighbours stand."""
    return x if pairs == "neighbours" else torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)


@pytest.mark.parametrize("pairs", PAIRS)
def test_rotary_positions_multiply_each_pair_by_a_complex_number_of_length_one(pairs):
    x, rotary = torch.randn(2, 3, 5, 8), RotaryPositions(8, 20, pairs)
    theta = 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    turn = torch.polar(torch.ones(5, 4), torch.arange(4, 9)[:, None] * theta)  # positions 4 .. 8
    complex_pairs = torch.view_as_complex(in_one_order(x, pairs).unflatten(-1, (4, 2)).contiguous())
    expected = torch.view_as_real(complex_pairs * turn).flatten(-2)
    torch.testing.assert_close(in_one_order(rotary.rotate(x, 4), pairs), expected)


@pytest.mark.parametrize("pairs", PAIRS)
def test_rotary_positions_are_what_the_chapter_asks_for_and_know_distances_alone(pairs):
    rotary = RotaryPositions(8, 200, pairs)
    q, k = torch.randn(2, 1, 1, 6, 8)
    near, far = (rotary(q, offset) @ rotary(k, offset).transpose(-2, -1) for offset in (0, 100))
    torch.testing.assert_close(near, far, rtol=1e-4, atol=1e-4)
    checks.check_rotary(
        lambda x, start=0: RotaryPositions(x.shape[1], 5000, pairs).to(x.dtype)(x[None, None], start)[0, 0]
    )


@pytest.mark.parametrize(("activation", "function"), [("silu", F.silu), ("gelu", F.gelu)])
def test_gated_feed_forward_is_its_formula(activation, function):
    part, x = GatedFeedForward(8, 12, activation=activation), torch.randn(2, 5, 8)
    expected = (function(x @ part.gate.weight.T) * (x @ part.expand.weight.T)) @ part.contract.weight.T
    torch.testing.assert_close(part(x), expected)


def test_shared_keys_and_values_are_those_of_torch_repeated_for_their_queries():
    attention, x = MultiHeadAttention(16, 4, num_kv_heads=2), torch.randn(2, 5, 16)
    q, (k, v) = attention.queries(x), attention.keys_values(x)
    assert k.shape == v.shape == (2, 2, 5, 4)
    heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    expected = attention.output_projection(attention.merge_heads(heads))
    torch.testing.assert_close(attention(x, x, x, causal_mask(5)), expected)


@pytest.mark.parametrize(
    "mask", [None, causal_mask(5), torch.zeros(5, 5, dtype=torch.bool)], ids=["none", "causal", "all"]
)
def test_a_bias_is_added_to_the_scores_on_both_paths(mask):
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    bias = torch.randn(4, 5, 5)
    written, weights = scaled_dot_product_attention(q, k, v, mask, score_bias=bias)
    fused, _ = scaled_dot_product_attention(q, k, v, mask, need_weights=False, score_bias=bias)
    torch.testing.assert_close(written, fused)
    seen = torch.ones(5, 5, dtype=torch.bool) if mask is None else mask
    scores = (q @ k.transpose(-2, -1) / 8**0.5 + bias).masked_fill(~seen, -torch.inf)
    torch.testing.assert_close(weights, scores.softmax(-1).nan_to_num(0.0))


def test_a_bias_reaches_the_recorder_and_changes_nothing_else():
    attention, x = MultiHeadAttention(16, 4), torch.randn(2, 5, 16)
    bias = torch.zeros(4, 5, 5).index_fill(2, torch.tensor([0]), 30.0)  # all look at the first token
    plain = attention.attend(x, attention.keys_values(x), score_bias=bias)
    with record_attention(attention) as maps:
        recorded = attention.attend(x, attention.keys_values(x), score_bias=bias)
    torch.testing.assert_close(plain, recorded)
    assert maps["attention"][..., 0].min() > 0.999
