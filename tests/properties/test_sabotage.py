"""Each property is shown to fail when the thing it guards is broken.

A sabotage changes one thing in the package, wherever it can a known mistake from the checks' catalogue. The property
that guards it must then raise AssertionError: not pass, and not fail for another reason.
"""

import functools
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from tests.parity import test_parameter_counts as sizes
from tests.parity import test_torch_nn as torch_nn
from tests.properties import models
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
    transformer,
)
from transformer_edu.book.exercises.checks.components.greedy_search import search
from transformer_edu.inspect import record

pytestmark = [
    pytest.mark.usefixtures("as_readers_run_it"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
]
FORMULA = [(attention, "scaled_dot_product_attention"), (parts, "scaled_dot_product_attention")]


def as_it_is(known):
    return known


# Of these components a known mistake stands in these places of the package, called as the package calls them there.
PLACES = {
    "attention": (
        FORMULA,
        lambda known: lambda query, key, value, mask=None, *dropout, **weights: known(query, key, value, mask),
    ),
    "causal mask": ([(transformer, "causal_mask")], lambda known: lambda size, device: known(size)),
    "encoder layer": (
        [(EncoderLayer, "forward")],
        lambda known: (
            lambda self, x, mask: known(
                x,
                lambda h: self.self_attention(h, h, h, mask),
                self.feed_forward,
                (self.self_attention_residual.norm, self.feed_forward_residual.norm),
            )
        ),
    ),
    "feed-forward network": (
        [(PositionwiseFeedForward, "forward")],
        lambda known: (
            lambda self, x: known(x, self.expand.weight.T, self.expand.bias, self.contract.weight.T, self.contract.bias)
        ),
    ),
    "greedy search": ([(model, "greedy_search")], as_it_is),
    "layer normalization": (
        [(LayerNorm, "forward")],
        lambda known: lambda self, x: known(x, self.weight, self.bias, self.eps),
    ),
    "residual connection": (
        [(ResidualConnection, "forward")],
        lambda known: lambda self, x, part: known(x, part, self.norm, "pre" if self.pre else "post"),
    ),
    "sinusoidal table": ([(parts, "sinusoidal_table")], as_it_is),
    "split and merge": ([(MultiHeadAttention, "merge_heads")], lambda known: lambda self, x: known[1](x)),
    "transformer": ([(models, "build_transformer")], as_it_is),
}
ORIGINAL_ATTEND = MultiHeadAttention.attend_in_heads


def weights_after_dropout(query, key, value, mask=None, dropout_p=0.0, need_weights=True, bias=None):
    weights = F.dropout(scaled_dot_product_attention(query, key, value, mask)[1], dropout_p)
    return weights @ value, weights


def dropout_forgotten(query, key, value, mask=None, dropout_p=0.0, need_weights=True, bias=None):
    return scaled_dot_product_attention(query, key, value, mask, 0.0, need_weights)


def distance_in_place_of_product(query, key, value, mask=None):
    weights = torch.softmax(-torch.cdist(query, key), dim=-1)
    return weights @ value, weights


def record_the_unmasked_weights(self, q, k, v, mask, score_bias=None):
    if self.recorder is None:
        return ORIGINAL_ATTEND(self, q, k, v, mask)
    self.recorder(scaled_dot_product_attention(q, k, v)[1])
    return self.output_projection(self.merge_heads(scaled_dot_product_attention(q, k, v, mask)[0]))


def projected_before_zeroing(self, q, k, v, mask, score_bias=None):
    output = ORIGINAL_ATTEND(self, q, k, v, mask)
    return output if mask is None else output * mask.any(-1, keepdim=True)


def causal_mask_without_offset(self, target, offset=0):
    causal = causal_mask(target.shape[1])[: target.shape[1] - offset]
    return causal & padding_mask(target, self.config.pad_id)


def reorder_without_cross_attention(self, rows):
    self.target = self.target[rows]
    for layer in self.layers:
        layer.self_attention.reorder(rows)


OFFSET_IGNORED, PLACED = "`offset` is ignored", [(PositionalEncoding, "forward")]
# What the catalogue has not: the places, and what stands there.
OWN = {
    "weights after dropout": (FORMULA, weights_after_dropout),
    "dropout forgotten": (FORMULA, dropout_forgotten),
    "distance in place of product": (FORMULA, distance_in_place_of_product),
    "fused without mask": (
        [(attention, "fused_attention")],
        lambda q, k, v, mask, dropout_p, score_bias: F.scaled_dot_product_attention(q, k, v),
    ),
    "fused with the mask inverted": (
        [(attention, "fused_attention")],
        lambda q, k, v, mask, dropout_p, score_bias: F.scaled_dot_product_attention(
            q, k, v, None if mask is None else ~mask
        ),
    ),
    "the unmasked weights are recorded": ([(MultiHeadAttention, "attend_in_heads")], record_the_unmasked_weights),
    "zeroed after the projection": ([(MultiHeadAttention, "attend_in_heads")], projected_before_zeroing),
    "maps under short names": ([(record, "_short_name")], lambda path: path.rsplit(".", 1)[-1]),
    "nothing is detached": ([(torch.Tensor, "detach")], as_it_is),
    "no causal mask": (
        [(Transformer, "target_mask")],
        lambda self, target, offset=0: padding_mask(target, self.config.pad_id),
    ),
    "a causal mask without offset": ([(Transformer, "target_mask")], causal_mask_without_offset),
    "cross-attention is not reordered": ([(DecoderCache, "reorder")], reorder_without_cross_attention),
    "keys are not reordered": ([(KeyValueCache, "reorder")], lambda self, rows: None),
    "one mode for all parts": ([(model, "greedy_search")], search),
    "the mean is taken off": (
        [(RMSNorm, "forward")],
        lambda self, x: F.layer_norm(x, self.weight.shape, self.weight, None, self.eps),
    ),
    "the factor √d_model is missing": ([(InputEmbedding, "forward")], lambda self, ids: self.lookup(ids)),
    "the table is added twice": (PLACED, lambda self, x, offset=0: x + 2 * self.table[offset : offset + x.shape[1]]),
    "the table is indexed by the batch": (
        PLACED,
        lambda self, x, offset=0: x + self.table[offset : offset + len(x), None],
    ),
    OFFSET_IGNORED: (PLACED, lambda self, x, offset=0: x + self.table[: x.shape[1]]),
    "no final norm": (
        [(Encoder, "forward")],
        lambda self, x, mask: functools.reduce(lambda y, layer: layer(y, mask), self.layers, x),
    ),
    "the first layer each time": (
        [(Encoder, "forward")],
        lambda self, x, mask: self.final_norm(functools.reduce(lambda y, _: self.layers[0](y, mask), self.layers, x)),
    ),
    "tables that are not tied": (
        [(sizes, "Transformer")],
        lambda config: wrong("transformer", "tie_embeddings has no effect")(**vars(config)),
    ),
}
FLOAT = torch.float32
LEAK = model.future_tokens_never_change_earlier_outputs
PADDING = model.more_padding_changes_nothing
NOWHERE = parts.nowhere_to_look_gives_zeros
SEES_THE_FUTURE = "transformer: the decoder sees the future: "
SEES_PADDING = "transformer: the source's padding is hidden nowhere"
OVER_THE_BATCH = "layer normalization: mean and variance are taken over batch and positions"
MERGED_AS_A_VIEW = "split and merge: merge lacks the transpose"
NO_SOFTMAX = "attention: there is no softmax"
MASK_UNUSED = "attention: the mask is not used"
MASK_LATE = "attention: the mask is applied after the softmax"
MEAN_OF_ALL = "attention: a query that may look at nothing takes the mean"

# Each guard, and the sabotages that it must notice: "component: beginning of a known mistake's name", or one of OWN.
GUARDS = [
    (
        LEAK,
        SEES_THE_FUTURE,
        "transformer: the decoder sees the future in eval mode",
        "causal mask: each token also sees the next one",
        MERGED_AS_A_VIEW,
        OVER_THE_BATCH,
    ),
    (partial(LEAK, num_layers=6, norm="pre", training=True), SEES_THE_FUTURE),
    (partial(LEAK, cached=True), "no causal mask"),
    (partial(LEAK, recorded=True), SEES_THE_FUTURE),
    (partial(PADDING, side="source"), SEES_PADDING, "transformer: the encoder attends to padding"),
    (partial(PADDING, side="source", training=True), "transformer: cross-attention looks at the source's padding"),
    (partial(PADDING, side="target"), OVER_THE_BATCH),
    (
        model.other_sentences_change_nothing,
        SEES_PADDING,
        OVER_THE_BATCH,
        "the table is indexed by the batch",
    ),
    (model.padded_tokens_get_no_gradient, SEES_PADDING),
    (
        partial(model.recorded_weights_sum_to_one, training=True),
        "weights after dropout",
        MASK_LATE,
        NO_SOFTMAX,
        "transformer: the decoder's self-attention does not hide padding",
        "maps under short names",
    ),
    (model.recorded_weights_are_the_ones_used, "the unmasked weights are recorded", "fused without mask"),
    (model.recorded_maps_hold_no_graph, "nothing is detached"),
    (partial(model.cached_steps_equal_the_full_pass, chunks=(1,) * 6), OFFSET_IGNORED, "a causal mask without offset"),
    (partial(model.cached_steps_equal_the_full_pass, chunks=(3, 3)), "no causal mask"),
    (model.reordered_cache_follows_its_rows, "cross-attention is not reordered", "keys are not reordered"),
    (
        partial(model.greedy_equals_greedy_by_hand, seed=1),
        OFFSET_IGNORED,
        "greedy search: the search stops when the first sentence has ended",
        "greedy search: sentences that have ended go on",
        "greedy search: max_len is counted without",
    ),
    (
        model.greedy_never_chooses_pad_or_begin,
        "greedy search: <pad> may be chosen",
        "greedy search: <bos> may be chosen",
    ),
    (
        model.searching_leaves_the_mode_as_it_was,
        "greedy search: the search runs in training mode",
        "greedy search: the model is left in eval mode",
        "one mode for all parts",
    ),
    (
        parts.attention_is_its_definition,
        "attention: the scores are not scaled",
        "attention: softmax runs over the queries",
    ),
    (partial(parts.attention_is_its_definition, allowed=0.1), MEAN_OF_ALL),
    (parts.fused_equals_written_out, "fused without mask", "fused with the mask inverted"),
    (parts.weights_are_a_distribution_over_allowed_keys, MASK_UNUSED, MASK_LATE, NO_SOFTMAX),
    (parts.output_lies_among_the_allowed_values, MASK_UNUSED, NO_SOFTMAX),
    (parts.forbidden_keys_and_values_never_matter, MASK_LATE),
    (partial(parts.forbidden_keys_and_values_never_matter, False), "fused without mask"),
    (parts.one_vector_added_to_all_keys_changes_nothing, "distance in place of product"),
    (partial(NOWHERE, need_weights=True), MEAN_OF_ALL, "attention: a query that may look at nothing becomes NaN"),
    (partial(NOWHERE, need_weights=True, dtype=torch.bfloat16), MEAN_OF_ALL),
    (partial(NOWHERE, need_weights=False), "fused without mask"),
    (
        partial(parts.blocked_query_of_a_head_is_zero_before_the_projection, recorded=True),
        "zeroed after the projection",
    ),
    (parts.dropout_spares_the_returned_weights, "weights after dropout", "dropout forgotten"),
    (parts.order_does_not_matter_without_positions, MERGED_AS_A_VIEW),
    (
        parts.shifted_encoding_is_a_rotation,
        "sinusoidal table: the base is 1000",
        "sinusoidal table: the parenthesis is in the wrong place",
    ),
    (
        parts.table_is_precise_far_out,
        "sinusoidal table: sine and cosine have changed places",
        "sinusoidal table: the angles are computed in float32",
    ),
    (
        parts.norm_is_its_definition,
        "layer normalization: the standard deviation is Bessel-corrected: ",
        "layer normalization: ε is added",
        OVER_THE_BATCH,
    ),
    (partial(parts.norm_is_its_definition, RMSNorm), "the mean is taken off"),
    (partial(torch_nn.test_layer_norm, FLOAT), "layer normalization: the standard deviation is Bessel-corrected: "),
    (
        partial(torch_nn.test_multi_head_attention, FLOAT, False, "causal", True),
        "attention: the scores are not scaled",
        MERGED_AS_A_VIEW,
        "fused without mask",
    ),
    (
        partial(torch_nn.test_encoder, FLOAT, False, "none", "post", True),
        "residual connection: there is no residual connection",
        "encoder layer: the second addition adds the attention's output",
        "feed-forward network: there is no ReLU",
        "the first layer each time",
    ),
    (
        partial(torch_nn.test_encoder, FLOAT, False, "none", "pre", True),
        'residual connection: `place` is ignored: it is always "post"',
        "no final norm",
    ),
    (
        partial(torch_nn.test_whole_transformer, FLOAT, False, "post", True),
        "the factor √d_model is missing",
        "the table is added twice",
    ),
    (partial(sizes.test_one_shared_table_gives_the_papers_size, sizes.BASE, 63_082_496), "tables that are not tied"),
]


def sabotage(what):
    """The places, and what stands there instead of the right thing."""
    if what in OWN:
        return OWN[what]
    component, _, mistake = what.partition(": ")
    places, called_there = PLACES[component]
    return places, called_there(wrong(component, mistake))


@functools.cache
def holds(guard):
    """As the package is; raises if not."""
    guard()


def name_of(guard):
    return getattr(guard, "func", guard).__name__


PAIRS = [(guard, what) for guard, *sabotages in GUARDS for what in sabotages]


@pytest.mark.parametrize(("guard", "what"), PAIRS, ids=[f"{name_of(guard)}: {what}" for guard, what in PAIRS])
def test_the_guard_fails_when_what_it_guards_is_broken(guard, what, monkeypatch):
    holds(guard)
    places, broken = sabotage(what)
    for place in places:
        monkeypatch.setattr(*place, broken)
    with pytest.raises(AssertionError):
        guard()


def test_every_property_has_a_sabotage():
    helpers = {"greedy_by_hand", "random_attention"}
    for module in (model, parts):
        properties = {name for name, f in vars(module).items() if getattr(f, "__module__", "") == module.__name__}
        missing = properties - {name_of(guard) for guard, *_ in GUARDS} - helpers
        assert not missing, f"no sabotage shows that these can fail: {sorted(missing)}"
