"""Properties of attention, positions and norms, over random shapes, lengths and masks."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import properties_of_parts as must
from transformer_edu import LayerNorm, RMSNorm

SHAPES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "batch": st.integers(1, 3),
        "heads": st.integers(1, 4),
        "q_len": st.integers(1, 6),
        "k_len": st.integers(1, 6),
        "d_head": st.integers(1, 9),
        "allowed": st.sampled_from([0.0, 0.2, 0.6, 1.0]),
    }
)
OF_ATTENTION = {
    "is its definition": must.attention_is_its_definition,
    "fused equals written out": must.fused_equals_written_out,
    "weights are a distribution over allowed keys": must.weights_are_a_distribution_over_allowed_keys,
    "output lies among the allowed values": must.output_lies_among_the_allowed_values,
    "fused output does too": partial(must.output_lies_among_the_allowed_values, False),
    "forbidden keys and values never matter": must.forbidden_keys_and_values_never_matter,
    "nor do they when fused": partial(must.forbidden_keys_and_values_never_matter, False),
    "one vector added to all keys changes nothing": must.one_vector_added_to_all_keys_changes_nothing,
}
over_shapes = settings(max_examples=40, derandomize=True)


@pytest.mark.long
@pytest.mark.parametrize("name", OF_ATTENTION)
@over_shapes
@given(shape=SHAPES)
def test_attention(name, shape):
    OF_ATTENTION[name](**shape)


@pytest.mark.parametrize("need_weights", [True, False], ids=["written-out", "fused"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_nowhere_to_look_gives_zeros_and_finite_gradients(dtype, need_weights):
    must.nowhere_to_look_gives_zeros(need_weights=need_weights, dtype=dtype)


@pytest.mark.parametrize("recorded", [True, False])
def test_blocked_query_of_a_head_is_zero_before_the_projection(recorded):
    must.blocked_query_of_a_head_is_zero_before_the_projection(recorded=recorded)


@pytest.mark.long
def test_dropout_spares_the_returned_weights():
    must.dropout_spares_the_returned_weights()


@pytest.mark.long
@over_shapes
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 7), st.integers(1, 4))
def test_order_does_not_matter_without_positions(seed, batch, seq, heads):
    must.order_does_not_matter_without_positions(seed, batch, seq, heads)


@pytest.mark.long
@over_shapes
@given(st.integers(1, 32), st.integers(0, 300), st.integers(0, 300))
def test_shifted_encoding_is_a_rotation_by_k_theta(pairs, position, shift):
    must.shifted_encoding_is_a_rotation(2 * pairs, position, shift)


def test_the_opposite_sign_is_not_the_rotation():
    with pytest.raises(AssertionError, match="pair 0 turned"):
        must.shifted_encoding_is_a_rotation(sign=-1)


@pytest.mark.parametrize("position", [1, 100, 5000])
def test_table_is_precise_far_out(position):
    must.table_is_precise_far_out(position)


@pytest.mark.parametrize("norm_type", [LayerNorm, RMSNorm])
@pytest.mark.parametrize("d_model", [1, 8, 512])
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_norm_is_its_definition(norm_type, d_model, eps):
    must.norm_is_its_definition(norm_type, d_model, eps)
