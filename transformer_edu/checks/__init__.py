"""Checks that teach: hand in your own implementation, learn which known mistake it makes.

Each check runs small trials, prints one line when all of them pass, and otherwise raises `CheckFailed` with the
smallest failing example, the mistake that produces exactly that answer, and a hint. Besides the numbers it looks at
whether inputs were changed and whether the gradient comes through what training goes back through. Its verdict does not
hang on the process's settings (gradients, autocast, default dtype and device, seeds, ...), which it leaves as they are.

    check_byte_pair_merges(fn)                   fn(word_counts, num_merges) -> list of pairs, in order
    check_input_embedding(cls)                   cls(vocab_size, d_model); forward(ids)
    check_sinusoidal_table(fn)                   fn(max_len, d_model) -> table
    check_position_rotation(fn)                  fn(k, theta) -> (2, 2) matrix for the pair (sin, cos)
    check_positional_encoding(cls)               cls(d_model, max_len=..., dropout=...); forward(x, offset=0)
    check_layer_norm(layer_norm)                 layer_norm(x, gamma, beta, eps=1e-5)
    check_masked_batch_norm(fn)                  fn(x, real, eps=1e-5), real (batch, seq) boolean
    check_softmax(fn)                            fn(scores) -> probabilities over the last dimension
    check_scaled_dot_product_attention(fn)       fn(query, key, value, mask=None) -> output or (output, weights)
    check_causal_mask(fn)                        fn(size) -> mask
    check_padding_mask(fn)                       fn(ids, pad_id) -> mask
    check_target_mask(fn)                        fn(ids, pad_id) -> mask, causal and padding together
    check_multi_head_split(split, merge)         split(x, num_heads), merge(heads)
    check_feed_forward(fn)                       fn(x, w1, b1, w2, b2)
    check_residual(fn)                           fn(x, part, norm, place), place "post" or "pre"
    check_encoder_layer(fn)                      fn(x, attend, feed_forward, norms)
    check_decoder_layer(fn)                      fn(x, memory, self_attention, cross_attention, feed_forward, norms)
    check_future_test(sees_the_future)           sees_the_future(model, ids) -> bool
    check_transformer(build)                     build(source_vocab_size, target_vocab_size, **config_fields) -> model
    check_parameter_count(fn)                    fn(config) -> int
    check_pack(fn)                               fn(lengths, max_tokens) -> batches, lists of indices
    check_shift(fn)                              fn(target) -> (target_in, target_out)
    check_label_smoothing(fn)                    fn(logits, target, pad_id, smoothing) -> loss
    check_warmup_schedule(fn)                    fn(step, d_model, warmup_steps) -> learning rate
    check_greedy_search(fn)                      fn(model, source, bos_id, eos_id, max_len) -> ids
    check_sampling_probabilities(fn)             fn(logits, temperature, top_k, top_p) -> probabilities (..., vocab)
    check_beam_search(fn)                        fn(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty)
                                                 -> (ids, log_prob)
    check_corpus_bleu(fn)                        fn(hypotheses, references) -> BLEU, 0 .. 100, of token lists

`catalogue(component)` lists the known mistakes of one component, `components()` the components' names.
"""

from transformer_edu.checks.engine.laboratory import laboratory

with laboratory():  # the tensors of the trials are made here and now, whatever the default dtype or device is
    from transformer_edu.checks.components import (  # noqa: F401 (each fills a catalogue)
        attention_mask_mistakes,
        attention_mistakes,
        batch_mistakes,
        batch_norm_mistakes,
        beam_mistakes,
        beam_score_mistakes,
        bleu_mistakes,
        byte_pair_mistakes,
        decoder_layer_cross_mistakes,
        decoder_layer_mistakes,
        encoder_layer_mistakes,
        encoding_mistakes,
        feed_forward_mistakes,
        input_embedding_mistakes,
        layer_norm_mistakes,
        leak_check_mistakes,
        loss_mistakes,
        mask_mistakes,
        parameter_mistakes,
        residual_mistakes,
        rotation_mistakes,
        sampling_mistakes,
        sampling_nucleus_mistakes,
        search_mistakes,
        table_mistakes,
        target_mask_mistakes,
        transformer_build_mistakes,
        transformer_mistakes,
    )
    from transformer_edu.checks.components.attention import ATTENTION, check_scaled_dot_product_attention
    from transformer_edu.checks.components.batches import PACK, check_pack
    from transformer_edu.checks.components.beam_search import BEAM, check_beam_search
    from transformer_edu.checks.components.byte_pair_merges import BYTE_PAIRS, check_byte_pair_merges
    from transformer_edu.checks.components.corpus_bleu import BLEU, check_corpus_bleu
    from transformer_edu.checks.components.decoder_layer import DECODER_LAYER, check_decoder_layer
    from transformer_edu.checks.components.encoder_layer import ENCODER_LAYER, check_encoder_layer
    from transformer_edu.checks.components.feed_forward import FEED_FORWARD, check_feed_forward
    from transformer_edu.checks.components.greedy_search import SEARCH, check_greedy_search
    from transformer_edu.checks.components.input_embedding import INPUT_EMBEDDING, check_input_embedding
    from transformer_edu.checks.components.label_smoothing import LOSS, check_label_smoothing
    from transformer_edu.checks.components.layer_norm import LAYER_NORM, check_layer_norm
    from transformer_edu.checks.components.leak_check import FUTURE_TEST, check_future_test
    from transformer_edu.checks.components.masked_batch_norm import BATCH_NORM, check_masked_batch_norm
    from transformer_edu.checks.components.masks import (
        CAUSAL,
        PADDING,
        TARGET,
        check_causal_mask,
        check_padding_mask,
        check_target_mask,
    )
    from transformer_edu.checks.components.multi_head_split import HEADS, check_multi_head_split
    from transformer_edu.checks.components.parameter_count import PARAMETERS, check_parameter_count
    from transformer_edu.checks.components.positional_encoding import ENCODING, check_positional_encoding
    from transformer_edu.checks.components.positions import (
        ROTATION,
        TABLE,
        check_position_rotation,
        check_sinusoidal_table,
    )
    from transformer_edu.checks.components.residual import RESIDUAL, check_residual
    from transformer_edu.checks.components.sampling_probabilities import SAMPLING, check_sampling_probabilities
    from transformer_edu.checks.components.shift import SHIFT, check_shift
    from transformer_edu.checks.components.softmax import SOFTMAX, check_softmax
    from transformer_edu.checks.components.transformer import TRANSFORMER, check_transformer
    from transformer_edu.checks.components.warmup_schedule import SCHEDULE, check_warmup_schedule
    from transformer_edu.checks.engine import CheckFailed, Component, Mistake

_IN_ORDER = (
    BYTE_PAIRS, INPUT_EMBEDDING, TABLE, ROTATION, ENCODING, LAYER_NORM, BATCH_NORM,
    SOFTMAX, ATTENTION, CAUSAL, PADDING, TARGET, HEADS, FEED_FORWARD, RESIDUAL, ENCODER_LAYER, DECODER_LAYER,
    FUTURE_TEST, TRANSFORMER, PARAMETERS, PACK, SHIFT, LOSS, SCHEDULE, SEARCH, SAMPLING, BEAM, BLEU,
)  # fmt: skip
_COMPONENTS: dict[str, Component] = {component.name: component for component in _IN_ORDER}


def components() -> list[str]:
    """The names of the components that have a catalogue, in the order of the book."""
    return list(_COMPONENTS)


def catalogue(component: str) -> list[Mistake]:
    """The known mistakes of one component: each has a name, a symptom, a why, a hint, and `wrong`, its code."""
    if component not in _COMPONENTS:
        raise ValueError(f"component must be one of {', '.join(map(repr, _COMPONENTS))}, got {component!r}")
    return list(_COMPONENTS[component].mistakes)


__all__ = [
    "CheckFailed",
    "Mistake",
    "catalogue",
    "check_beam_search",
    "check_byte_pair_merges",
    "check_causal_mask",
    "check_corpus_bleu",
    "check_decoder_layer",
    "check_encoder_layer",
    "check_feed_forward",
    "check_future_test",
    "check_greedy_search",
    "check_input_embedding",
    "check_label_smoothing",
    "check_layer_norm",
    "check_masked_batch_norm",
    "check_multi_head_split",
    "check_pack",
    "check_padding_mask",
    "check_parameter_count",
    "check_position_rotation",
    "check_positional_encoding",
    "check_residual",
    "check_sampling_probabilities",
    "check_scaled_dot_product_attention",
    "check_shift",
    "check_sinusoidal_table",
    "check_softmax",
    "check_target_mask",
    "check_transformer",
    "check_warmup_schedule",
    "components",
]
