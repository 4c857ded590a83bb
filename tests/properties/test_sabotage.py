"""Each property is shown to fail when the thing it guards is broken.

A sabotage changes one thing in the package, usually a mistake met in widely copied code. The property that guards
it must then raise AssertionError: not pass, and not fail for another reason.
"""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.parity import parity
from tests.properties import properties as model
from tests.properties import properties_of_parts as parts
from transformer_edu import (
    DecoderCache,
    Encoder,
    EncoderLayer,
    InputEmbedding,
    KeyValueCache,
    LayerNorm,
    MultiHeadAttention,
    PositionalEncoding,
    PositionwiseFeedForward,
    ResidualConnection,
    RMSNorm,
    Transformer,
    attention,
    causal_mask,
    decoding,
    inspection,
    padding_mask,
    scaled_dot_product_attention,
    transformer,
)

ORIGINAL_TARGET_MASK = Transformer.target_mask
ORIGINAL_DECODE = Transformer.decode
ORIGINAL_ATTEND = MultiHeadAttention.attend


# --- the broken parts -----------------------------------------------------------------------------------------------
def no_causal_mask(self, target, offset=0):
    return padding_mask(target, self.config.pad_id)


def causal_mask_in_training_only(self, target, offset=0):
    return (ORIGINAL_TARGET_MASK if self.training else no_causal_mask)(self, target, offset)


def causal_mask_one_too_wide(size, device=None):
    return torch.ones(size, size, dtype=torch.bool, device=device).tril(1)


def causal_mask_without_offset(self, target, offset=0):
    causal = causal_mask(target.shape[1])[: target.shape[1] - offset]
    return causal & padding_mask(target, self.config.pad_id)


def merge_without_transpose(self, x):
    batch, heads, seq, d_head = x.shape
    return x.reshape(batch, seq, heads * d_head)


def no_padding_mask(ids, pad_id):
    return torch.ones_like(ids, dtype=torch.bool)[:, None, None, :]


def causal_only(self, target, offset=0):
    return causal_mask(target.shape[1])[offset:].expand(target.shape[0], 1, -1, -1)


def softmax_of(query, key, value, mask, scale=None, blocked=None):
    """The bare mechanism, for the broken versions below; `blocked` is what a forbidden score becomes."""
    scores = query @ key.transpose(-2, -1) / (math.sqrt(query.shape[-1]) if scale is None else scale)
    if mask is not None and blocked is not None:
        scores = scores.masked_fill(~mask, blocked)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def mask_after_softmax(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    _, weights = softmax_of(query, key, value, mask)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


def mask_ignored(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    return softmax_of(query, key, value, mask)


def minus_infinity(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    return softmax_of(query, key, value, mask, blocked=-math.inf)


def minus_a_billion(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    return softmax_of(query, key, value, mask, blocked=-1e9)


def no_square_root(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    return softmax_of(query, key, value, mask, scale=1.0, blocked=-1e9)


def softmax_over_queries(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-2)
    return weights @ value, weights


def scores_without_softmax(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    weights = query @ key.transpose(-2, -1)
    return weights @ value, weights


def weights_after_dropout(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    _, weights = scaled_dot_product_attention(query, key, value, mask, 0.0)
    weights = F.dropout(weights, dropout_p)
    return weights @ value, weights


def dropout_forgotten(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    return scaled_dot_product_attention(query, key, value, mask, 0.0, need_weights)


def distance_in_place_of_product(query, key, value, mask=None, dropout_p=0.0, need_weights=True):
    weights = torch.softmax(-torch.cdist(query, key), dim=-1)
    return weights @ value, weights


def fused_without_mask(query, key, value, mask, dropout_p):
    return F.scaled_dot_product_attention(query, key, value)


def fused_with_the_mask_inverted(query, key, value, mask, dropout_p):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=None if mask is None else ~mask)


def record_the_unmasked_weights(self, q, k, v, mask):
    if self.recorder is None:
        return ORIGINAL_ATTEND(self, q, k, v, mask)
    self.recorder(scaled_dot_product_attention(q, k, v)[1])
    heads, _ = scaled_dot_product_attention(q, k, v, mask)
    return self.output_projection(self.merge_heads(heads))


def projected_before_zeroing(self, q, k, v, mask):
    output = ORIGINAL_ATTEND(self, q, k, v, mask)
    return output if mask is None else output * mask.any(-1, keepdim=True)


def position_zero_for_every_step(self, x, offset=0):
    return x + self.table[: x.shape[1]]


def position_counted_along_the_batch(self, x, offset=0):
    return x + self.table[: x.shape[0], None]


def table_with(angles):
    """A sinusoidal table whose angles (max_len, d_model / 2) come from a broken formula."""

    def broken(max_len, d_model):
        angle = angles(max_len, d_model)
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)

    return broken


def float32_angles(max_len, d_model):
    return torch.arange(max_len)[:, None] * torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))


def parenthesis_in_the_wrong_place(max_len, d_model):
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64)
    return torch.arange(max_len)[:, None] * torch.exp(pairs * -math.log(10000.0 / d_model))


def base_of_a_thousand(max_len, d_model):
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64)
    return torch.arange(max_len)[:, None] * 1000.0 ** (-pairs / d_model)


def cosine_before_sine(max_len, d_model):
    return float32_angles(max_len, d_model) + math.pi / 2


def turned_the_other_way(max_len, d_model):
    return -float32_angles(max_len, d_model)


def bessel_corrected(self, x):
    return self.weight * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + self.eps).sqrt() + self.bias


def epsilon_outside_the_root(self, x):
    deviation = x.std(-1, keepdim=True, correction=0)
    return self.weight * (x - x.mean(-1, keepdim=True)) / (deviation + self.eps) + self.bias


def normalized_over_the_batch(self, x):
    axes = tuple(range(x.dim() - 1))
    mean, variance = x.mean(axes, keepdim=True), x.var(axes, keepdim=True, correction=0)
    return self.weight * (x - mean) / (variance + self.eps).sqrt() + self.bias


def rms_with_the_mean_taken_off(self, x):
    return F.layer_norm(x, self.weight.shape, self.weight, None, self.eps)


def no_residual(self, x, sublayer):
    return self.norm(self.dropout(sublayer(x)))


def norm_place_ignored(self, x, sublayer):
    return self.norm(x + self.dropout(sublayer(x)))


def second_residual_adds_the_attention(self, x, mask=None):
    attended = self.self_attention(x, x, x, mask)
    normed = self.attend_residual.norm(x + attended)
    return self.feed_forward_residual.norm(self.feed_forward(normed) + attended)


def no_relu(self, x):
    return self.contract(self.expand(x))


def embedding_not_scaled(self, ids):
    return self.lookup(ids)


def memory_of_the_last_step_only(self, key, value):
    self.key, self.value = key, value
    return key, value


def reorder_without_cross_attention(self, rows):
    self.target = self.target[rows]
    for layer in self.layers:
        layer.self_attention.reorder(rows)


def decode_without_dropout_switched_off(model):
    return torch.no_grad()


def decode_in_eval_mode_for_good(model):
    model.eval()
    return torch.no_grad()


def decode_and_train_everything(model):
    class Switch:
        def __enter__(self):
            model.eval()

        def __exit__(self, *error):
            model.train()

    return Switch()


def choose_the_second_best(model, newest, memory, source, cache):
    logits = model.project(model.decode(newest, memory, source, cache)[:, -1:])[:, 0]
    return logits.scatter(-1, logits.argmax(-1, keepdim=True), -math.inf)


def forbid_nothing(model, newest, memory, source, cache):
    logits = model.project(model.decode(newest, memory, source, cache)[:, -1:])[:, 0]

    class Unforbidding:
        argmax = staticmethod(logits.argmax)

        def __setitem__(self, key, value):
            pass

    return Unforbidding()


def memory_unmasked(self, target, memory, source, cache=None):
    return ORIGINAL_DECODE(self, target, memory, torch.full_like(source, self.config.pad_id + 1), cache)


def no_final_norm(self, x, *args):
    for layer in self.layers:
        x = layer(x, *args)
    return x


def attention_of_layer_one_twice(self, x, mask=None):
    for _ in self.layers:
        x = self.layers[0](x, mask)
    return self.final_norm(x)


# --- the comparisons with torch.nn ----------------------------------------------------------------------------------
def equals_torch_layer_norm():
    theirs, ours = parity.random_weights(nn.LayerNorm(parity.D_MODEL)), LayerNorm(parity.D_MODEL)
    parity.assert_parity(theirs.double(), ours.double(), theirs, ours, parity.vectors(4, torch.float64, 0))


def equals_torch_attention():
    theirs = parity.random_weights(nn.MultiheadAttention(parity.D_MODEL, parity.HEADS, batch_first=True)).double()
    ours = MultiHeadAttention(parity.D_MODEL, parity.HEADS).double()
    blocked = ~causal_mask(4)
    inputs = [parity.vectors(4, torch.float64, seed) for seed in range(3)]
    parity.assert_parity(
        theirs, ours, lambda *x: theirs(*x, attn_mask=blocked)[0], lambda *x: ours(*x, ~blocked), *inputs
    )


def equals_torch_encoder(norm="post"):
    pre, d = norm == "pre", parity.D_MODEL
    layer = nn.TransformerEncoderLayer(d, parity.HEADS, parity.D_FF, 0.0, batch_first=True, norm_first=pre)
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(d), enable_nested_tensor=False)
    parity.random_weights(theirs.double())
    ours = Encoder([EncoderLayer(d, parity.HEADS, parity.D_FF, norm=norm) for _ in range(2)], LayerNorm(d)).double()
    parity.assert_parity(theirs, ours, theirs, ours, parity.vectors(4, torch.float64, 0))


def has_the_papers_size():
    with torch.device("meta"):
        shared = transformer.TransformerConfig(37_000, 37_000, tie_embeddings="all")
        count = sum(parameter.numel() for parameter in Transformer(shared).parameters())
    assert count == 63_082_496, f"{count} parameters"


def embedding_has_the_papers_scale():
    lookup = InputEmbedding(5, 16)
    expected = 4.0 * lookup.lookup.weight[[3, 1]]
    torch.testing.assert_close(lookup(torch.tensor([[3, 1]]))[0], expected)


# --- (owner, attribute, what replaces it, the property that must fail) ----------------------------------------------
FUNCTION, PARTS_FUNCTION = (attention, "scaled_dot_product_attention"), (parts, "scaled_dot_product_attention")
LEAK = model.future_tokens_never_change_earlier_outputs
PADDING = model.more_padding_changes_nothing
STEPS = partial(model.cached_steps_equal_the_full_pass, chunks=(1,) * 6)
SUMS = partial(model.recorded_weights_sum_to_one, training=True)
GREEDY = partial(model.greedy_equals_greedy_by_hand, seed=2)
NOWHERE = partial(parts.nowhere_to_look_gives_zeros, need_weights=True)

SABOTAGES = [
    (Transformer, "target_mask", no_causal_mask, LEAK),
    (Transformer, "target_mask", no_causal_mask, partial(LEAK, num_layers=6, norm="pre", training=True)),
    (Transformer, "target_mask", no_causal_mask, partial(LEAK, cached=True)),
    (Transformer, "target_mask", no_causal_mask, partial(LEAK, recorded=True)),
    (Transformer, "target_mask", causal_mask_in_training_only, LEAK),
    (transformer, "causal_mask", causal_mask_one_too_wide, LEAK),
    (MultiHeadAttention, "merge_heads", merge_without_transpose, LEAK),
    (LayerNorm, "forward", normalized_over_the_batch, LEAK),
    (transformer, "padding_mask", no_padding_mask, partial(PADDING, side="source")),
    (Transformer, "decode", memory_unmasked, partial(PADDING, side="source", training=True)),
    (LayerNorm, "forward", normalized_over_the_batch, partial(PADDING, side="target")),
    (transformer, "padding_mask", no_padding_mask, model.other_sentences_change_nothing),
    (LayerNorm, "forward", normalized_over_the_batch, model.other_sentences_change_nothing),
    (PositionalEncoding, "forward", position_counted_along_the_batch, model.other_sentences_change_nothing),
    (transformer, "padding_mask", no_padding_mask, model.padded_tokens_get_no_gradient),
    (*FUNCTION, weights_after_dropout, SUMS),
    (*FUNCTION, mask_after_softmax, SUMS),
    (*FUNCTION, scores_without_softmax, SUMS),
    (Transformer, "target_mask", causal_only, SUMS),
    (inspection, "_short_name", lambda path: path.rsplit(".", 1)[-1], SUMS),
    (MultiHeadAttention, "attend", record_the_unmasked_weights, model.recorded_weights_are_the_ones_used),
    (attention, "_fused_attention", fused_without_mask, model.recorded_weights_are_the_ones_used),
    (torch.Tensor, "detach", lambda self: self, model.recorded_maps_hold_no_graph),
    (PositionalEncoding, "forward", position_zero_for_every_step, STEPS),
    (Transformer, "target_mask", causal_mask_without_offset, STEPS),
    (Transformer, "target_mask", no_causal_mask, partial(model.cached_steps_equal_the_full_pass, chunks=(3, 3))),
    (PositionalEncoding, "forward", position_zero_for_every_step, GREEDY),
    (DecoderCache, "reorder", reorder_without_cross_attention, model.reordered_cache_follows_its_rows),
    (KeyValueCache, "reorder", lambda self, rows: None, model.reordered_cache_follows_its_rows),
    (decoding, "next_token_logits", choose_the_second_best, GREEDY),
    (decoding, "next_token_logits", forbid_nothing, model.greedy_never_chooses_pad_or_begin),
    (decoding, "evaluation_mode", decode_without_dropout_switched_off, model.searching_leaves_the_mode_as_it_was),
    (decoding, "evaluation_mode", decode_in_eval_mode_for_good, model.searching_leaves_the_mode_as_it_was),
    (decoding, "evaluation_mode", decode_and_train_everything, model.searching_leaves_the_mode_as_it_was),
    (*PARTS_FUNCTION, no_square_root, parts.attention_is_its_definition),
    (*PARTS_FUNCTION, softmax_over_queries, parts.attention_is_its_definition),
    (*PARTS_FUNCTION, minus_a_billion, partial(parts.attention_is_its_definition, allowed=0.1)),
    (attention, "_fused_attention", fused_without_mask, parts.fused_equals_written_out),
    (attention, "_fused_attention", fused_with_the_mask_inverted, parts.fused_equals_written_out),
    (*PARTS_FUNCTION, mask_ignored, parts.weights_are_a_distribution_over_allowed_keys),
    (*PARTS_FUNCTION, mask_after_softmax, parts.weights_are_a_distribution_over_allowed_keys),
    (*PARTS_FUNCTION, scores_without_softmax, parts.weights_are_a_distribution_over_allowed_keys),
    (*PARTS_FUNCTION, mask_ignored, parts.output_lies_among_the_allowed_values),
    (*PARTS_FUNCTION, scores_without_softmax, parts.output_lies_among_the_allowed_values),
    (*PARTS_FUNCTION, mask_after_softmax, parts.forbidden_keys_and_values_never_matter),
    (attention, "_fused_attention", fused_without_mask, partial(parts.forbidden_keys_and_values_never_matter, False)),
    (*PARTS_FUNCTION, distance_in_place_of_product, parts.one_vector_added_to_all_keys_changes_nothing),
    (*PARTS_FUNCTION, minus_infinity, NOWHERE),
    (*PARTS_FUNCTION, minus_a_billion, NOWHERE),
    (*PARTS_FUNCTION, minus_a_billion, partial(NOWHERE, dtype=torch.bfloat16)),
    (attention, "_fused_attention", fused_without_mask, partial(NOWHERE, need_weights=False)),
    (
        MultiHeadAttention,
        "attend",
        projected_before_zeroing,
        partial(parts.blocked_query_of_a_head_is_zero_before_the_projection, recorded=True),
    ),
    (*PARTS_FUNCTION, weights_after_dropout, parts.dropout_spares_the_returned_weights),
    (*PARTS_FUNCTION, dropout_forgotten, parts.dropout_spares_the_returned_weights),
    (MultiHeadAttention, "merge_heads", merge_without_transpose, parts.order_does_not_matter_without_positions),
    (parts, "sinusoidal_table", table_with(turned_the_other_way), parts.shifted_encoding_is_a_rotation),
    (parts, "sinusoidal_table", table_with(cosine_before_sine), parts.table_is_precise_far_out),
    (parts, "sinusoidal_table", table_with(base_of_a_thousand), parts.shifted_encoding_is_a_rotation),
    (parts, "sinusoidal_table", table_with(parenthesis_in_the_wrong_place), parts.shifted_encoding_is_a_rotation),
    (parts, "sinusoidal_table", table_with(float32_angles), parts.table_is_precise_far_out),
    (LayerNorm, "forward", bessel_corrected, parts.norm_is_its_definition),
    (LayerNorm, "forward", epsilon_outside_the_root, parts.norm_is_its_definition),
    (LayerNorm, "forward", normalized_over_the_batch, parts.norm_is_its_definition),
    (RMSNorm, "forward", rms_with_the_mean_taken_off, partial(parts.norm_is_its_definition, RMSNorm)),
    (LayerNorm, "forward", bessel_corrected, equals_torch_layer_norm),
    (*FUNCTION, no_square_root, equals_torch_attention),
    (MultiHeadAttention, "merge_heads", merge_without_transpose, equals_torch_attention),
    (attention, "_fused_attention", fused_without_mask, equals_torch_attention),
    (ResidualConnection, "forward", no_residual, equals_torch_encoder),
    (ResidualConnection, "forward", norm_place_ignored, partial(equals_torch_encoder, "pre")),
    (EncoderLayer, "forward", second_residual_adds_the_attention, equals_torch_encoder),
    (PositionwiseFeedForward, "forward", no_relu, equals_torch_encoder),
    (Encoder, "forward", no_final_norm, equals_torch_encoder),
    (Encoder, "forward", attention_of_layer_one_twice, equals_torch_encoder),
    (Transformer, "_tie_embeddings", lambda self: None, has_the_papers_size),
    (InputEmbedding, "forward", embedding_not_scaled, embedding_has_the_papers_scale),
]


def name_of(sabotage):
    _, attribute, broken, guard = sabotage
    guard = getattr(guard, "func", guard).__name__
    return f"{getattr(broken, '__name__', attribute)} breaks {guard}"


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=name_of)
def test_the_guard_fails_when_what_it_guards_is_broken(sabotage, monkeypatch):
    owner, attribute, broken, guard = sabotage
    guard()  # as the package is, it holds
    monkeypatch.setattr(owner, attribute, broken)
    with pytest.raises(AssertionError):
        guard()


def test_every_property_has_a_sabotage():
    guards = {getattr(guard, "func", guard) for *_, guard in SABOTAGES}
    for module in (model, parts):
        properties = {f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__}
        helpers = {"greedy_by_hand", "random_attention"}
        missing = {f.__name__ for f in properties - guards} - helpers
        assert not missing, f"no sabotage shows that these can fail: {sorted(missing)}"
