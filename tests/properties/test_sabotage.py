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
from tests.unit.checked import wrong
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
    padding_mask,
    scaled_dot_product_attention,
    sinusoidal_table,
    transformer,
)
from transformer_edu.decoding import greedy
from transformer_edu.inspection import record

ORIGINAL_TARGET_MASK = Transformer.target_mask
ORIGINAL_DECODE = Transformer.decode
ORIGINAL_ATTEND = MultiHeadAttention.attend


# --- known mistakes of the checks' catalogue in the place of the package's parts ------------------------------------
def attention_in_which(mistake):
    known = wrong("attention", mistake)
    return called(mistake, lambda query, key, value, mask=None, *dropout, **weights: known(query, key, value, mask))


def norm_in_which(mistake):
    known = wrong("layer normalization", mistake)
    return called(mistake, lambda self, x: known(x, self.weight, self.bias, self.eps))


def table_in_which(mistake):
    return called(mistake, wrong("sinusoidal table", mistake))


def called(name, function):
    """The function under a name that says what is broken."""
    broken = partial(function) if isinstance(function, partial) else function
    broken.__name__ = name
    return broken


_, merge_as_a_view = wrong("split and merge", "merge lacks the transpose")
layer_that_adds_the_attention = wrong("encoder layer", "the second addition adds the attention's output")


def merge_without_transpose(self, x):
    return merge_as_a_view(x)


def second_residual_adds_the_attention(self, x, mask=None):
    norms = tuple(part.norm for part in self.children() if isinstance(part, ResidualConnection))
    return layer_that_adds_the_attention(x, lambda h: self.self_attention(h, h, h, mask), self.feed_forward, norms)


# --- other broken parts ---------------------------------------------------------------------------------------------
def no_causal_mask(self, target, offset=0):
    return padding_mask(target, self.config.pad_id)


def causal_mask_in_training_only(self, target, offset=0):
    return (ORIGINAL_TARGET_MASK if self.training else no_causal_mask)(self, target, offset)


def causal_mask_one_too_wide(size, device=None):
    return torch.ones(size, size, dtype=torch.bool, device=device).tril(1)


def causal_mask_without_offset(self, target, offset=0):
    causal = causal_mask(target.shape[1])[: target.shape[1] - offset]
    return causal & padding_mask(target, self.config.pad_id)


def no_padding_mask(ids, pad_id):
    return torch.ones_like(ids, dtype=torch.bool)[:, None, None, :]


def causal_only(self, target, offset=0):
    return causal_mask(target.shape[1])[offset:].expand(target.shape[0], 1, -1, -1)


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


def table_turned_the_other_way(max_len, d_model):
    return sinusoidal_table(max_len, d_model) * torch.tensor([-1.0, 1.0]).repeat(d_model // 2)


def rms_with_the_mean_taken_off(self, x):
    return F.layer_norm(x, self.weight.shape, self.weight, None, self.eps)


def no_residual(self, x, sublayer):
    return self.norm(self.dropout(sublayer(x)))


def norm_place_ignored(self, x, sublayer):
    return self.norm(x + self.dropout(sublayer(x)))


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

MASK_UNUSED = attention_in_which("the mask is not used")
MASK_LATE = attention_in_which("the mask is applied after")
NO_SOFTMAX = attention_in_which("there is no softmax")
MEAN_OF_ALL = attention_in_which("a query that may look at nothing takes the mean")
WRONG_PARENTHESIS = table_in_which("the parenthesis is in the wrong place")
BESSEL = norm_in_which("the standard deviation is Bessel-corrected: ")
OVER_THE_BATCH = norm_in_which("mean and variance are taken over batch and positions")

SABOTAGES = [
    (Transformer, "target_mask", no_causal_mask, LEAK),
    (Transformer, "target_mask", no_causal_mask, partial(LEAK, num_layers=6, norm="pre", training=True)),
    (Transformer, "target_mask", no_causal_mask, partial(LEAK, cached=True)),
    (Transformer, "target_mask", no_causal_mask, partial(LEAK, recorded=True)),
    (Transformer, "target_mask", causal_mask_in_training_only, LEAK),
    (transformer, "causal_mask", causal_mask_one_too_wide, LEAK),
    (MultiHeadAttention, "merge_heads", merge_without_transpose, LEAK),
    (LayerNorm, "forward", OVER_THE_BATCH, LEAK),
    (transformer, "padding_mask", no_padding_mask, partial(PADDING, side="source")),
    (Transformer, "decode", memory_unmasked, partial(PADDING, side="source", training=True)),
    (LayerNorm, "forward", OVER_THE_BATCH, partial(PADDING, side="target")),
    (transformer, "padding_mask", no_padding_mask, model.other_sentences_change_nothing),
    (LayerNorm, "forward", OVER_THE_BATCH, model.other_sentences_change_nothing),
    (PositionalEncoding, "forward", position_counted_along_the_batch, model.other_sentences_change_nothing),
    (transformer, "padding_mask", no_padding_mask, model.padded_tokens_get_no_gradient),
    (*FUNCTION, weights_after_dropout, SUMS),
    (*FUNCTION, MASK_LATE, SUMS),
    (*FUNCTION, NO_SOFTMAX, SUMS),
    (Transformer, "target_mask", causal_only, SUMS),
    (record, "_short_name", lambda path: path.rsplit(".", 1)[-1], SUMS),
    (MultiHeadAttention, "attend", record_the_unmasked_weights, model.recorded_weights_are_the_ones_used),
    (attention, "_fused_attention", fused_without_mask, model.recorded_weights_are_the_ones_used),
    (torch.Tensor, "detach", lambda self: self, model.recorded_maps_hold_no_graph),
    (PositionalEncoding, "forward", position_zero_for_every_step, STEPS),
    (Transformer, "target_mask", causal_mask_without_offset, STEPS),
    (Transformer, "target_mask", no_causal_mask, partial(model.cached_steps_equal_the_full_pass, chunks=(3, 3))),
    (PositionalEncoding, "forward", position_zero_for_every_step, GREEDY),
    (DecoderCache, "reorder", reorder_without_cross_attention, model.reordered_cache_follows_its_rows),
    (KeyValueCache, "reorder", lambda self, rows: None, model.reordered_cache_follows_its_rows),
    (greedy, "next_token_logits", choose_the_second_best, GREEDY),
    (greedy, "next_token_logits", forbid_nothing, model.greedy_never_chooses_pad_or_begin),
    (greedy, "evaluation_mode", decode_without_dropout_switched_off, model.searching_leaves_the_mode_as_it_was),
    (greedy, "evaluation_mode", decode_in_eval_mode_for_good, model.searching_leaves_the_mode_as_it_was),
    (greedy, "evaluation_mode", decode_and_train_everything, model.searching_leaves_the_mode_as_it_was),
    (*PARTS_FUNCTION, attention_in_which("the scores are not scaled"), parts.attention_is_its_definition),
    (*PARTS_FUNCTION, attention_in_which("softmax runs over the queries"), parts.attention_is_its_definition),
    (
        *PARTS_FUNCTION,
        MEAN_OF_ALL,
        partial(parts.attention_is_its_definition, allowed=0.1),
    ),
    (attention, "_fused_attention", fused_without_mask, parts.fused_equals_written_out),
    (attention, "_fused_attention", fused_with_the_mask_inverted, parts.fused_equals_written_out),
    (*PARTS_FUNCTION, MASK_UNUSED, parts.weights_are_a_distribution_over_allowed_keys),
    (
        *PARTS_FUNCTION,
        MASK_LATE,
        parts.weights_are_a_distribution_over_allowed_keys,
    ),
    (*PARTS_FUNCTION, NO_SOFTMAX, parts.weights_are_a_distribution_over_allowed_keys),
    (*PARTS_FUNCTION, MASK_UNUSED, parts.output_lies_among_the_allowed_values),
    (*PARTS_FUNCTION, NO_SOFTMAX, parts.output_lies_among_the_allowed_values),
    (*PARTS_FUNCTION, MASK_LATE, parts.forbidden_keys_and_values_never_matter),
    (attention, "_fused_attention", fused_without_mask, partial(parts.forbidden_keys_and_values_never_matter, False)),
    (*PARTS_FUNCTION, distance_in_place_of_product, parts.one_vector_added_to_all_keys_changes_nothing),
    (*PARTS_FUNCTION, attention_in_which("a query that may look at nothing becomes NaN"), NOWHERE),
    (*PARTS_FUNCTION, MEAN_OF_ALL, NOWHERE),
    (
        *PARTS_FUNCTION,
        MEAN_OF_ALL,
        partial(NOWHERE, dtype=torch.bfloat16),
    ),
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
    (parts, "sinusoidal_table", table_turned_the_other_way, parts.shifted_encoding_is_a_rotation),
    (parts, "sinusoidal_table", table_in_which("sine and cosine have changed places"), parts.table_is_precise_far_out),
    (parts, "sinusoidal_table", table_in_which("the base is 1000"), parts.shifted_encoding_is_a_rotation),
    (
        parts,
        "sinusoidal_table",
        WRONG_PARENTHESIS,
        parts.shifted_encoding_is_a_rotation,
    ),
    (parts, "sinusoidal_table", table_in_which("the angles are computed in float32"), parts.table_is_precise_far_out),
    (LayerNorm, "forward", BESSEL, parts.norm_is_its_definition),
    (LayerNorm, "forward", norm_in_which("ε is added"), parts.norm_is_its_definition),
    (LayerNorm, "forward", OVER_THE_BATCH, parts.norm_is_its_definition),
    (RMSNorm, "forward", rms_with_the_mean_taken_off, partial(parts.norm_is_its_definition, RMSNorm)),
    (LayerNorm, "forward", BESSEL, equals_torch_layer_norm),
    (*FUNCTION, attention_in_which("the scores are not scaled"), equals_torch_attention),
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
