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
    check_token_budget_batches(fn)               fn(lengths, max_tokens) -> batches, lists of indices
    check_shift(fn)                              fn(target) -> (target_in, target_out)
    check_label_smoothing(fn)                    fn(logits, target, pad_id, smoothing) -> loss
    check_warmup_schedule(fn)                    fn(step, d_model, warmup_steps) -> learning rate
    check_greedy_search(fn)                      fn(model, source, bos_id, eos_id, max_len) -> ids
    check_sampling_probabilities(fn)             fn(logits, temperature, top_k, top_p) -> probabilities (..., vocab)
    check_beam_search(fn)                        fn(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty)
                                                 -> (ids, log_prob)
    check_corpus_bleu(fn)                        fn(hypotheses, references) -> BLEU, 0 .. 100, of token lists
    check_attention_entropy(fn)                  fn(weights) -> entropy over ln n of each head
    check_attention_rollout(fn)                  fn(maps) -> (seq, seq), attention followed through the layers

Two more are for the parts of a machine of your own:

    check_fit(*definitions)                      same weights by name, and same answers, as the package's parts
    keep(*definitions, path="my_transformer.py") writes them into one file, once they fit

`catalogue(component)` lists the known mistakes of one component, `component_names()` the components.
"""

# ruff: noqa: F401 (each line below registers a component and hands its check out)
from types import ModuleType

from transformer_edu.checks import components as _folder
from transformer_edu.checks.engine import CheckFailed, Component, Mistake
from transformer_edu.checks.engine.laboratory import laboratory

with laboratory():  # the tensors of the trials are made here and now, whatever the default dtype or device is
    from transformer_edu.checks.components.attention import check_scaled_dot_product_attention
    from transformer_edu.checks.components.attention_entropy import check_attention_entropy
    from transformer_edu.checks.components.attention_rollout import check_attention_rollout
    from transformer_edu.checks.components.batches import check_token_budget_batches
    from transformer_edu.checks.components.beam_search import check_beam_search
    from transformer_edu.checks.components.byte_pair_merges import check_byte_pair_merges
    from transformer_edu.checks.components.causal_mask import check_causal_mask
    from transformer_edu.checks.components.corpus_bleu import check_corpus_bleu
    from transformer_edu.checks.components.decoder_layer import check_decoder_layer
    from transformer_edu.checks.components.encoder_layer import check_encoder_layer
    from transformer_edu.checks.components.feed_forward import check_feed_forward
    from transformer_edu.checks.components.greedy_search import check_greedy_search
    from transformer_edu.checks.components.input_embedding import check_input_embedding
    from transformer_edu.checks.components.label_smoothing import check_label_smoothing
    from transformer_edu.checks.components.layer_norm import check_layer_norm
    from transformer_edu.checks.components.leak_check import check_future_test
    from transformer_edu.checks.components.masked_batch_norm import check_masked_batch_norm
    from transformer_edu.checks.components.multi_head_split import check_multi_head_split
    from transformer_edu.checks.components.padding_mask import check_padding_mask
    from transformer_edu.checks.components.parameter_count import check_parameter_count
    from transformer_edu.checks.components.position_rotation import check_position_rotation
    from transformer_edu.checks.components.positional_encoding import check_positional_encoding
    from transformer_edu.checks.components.residual import check_residual
    from transformer_edu.checks.components.sampling_probabilities import check_sampling_probabilities
    from transformer_edu.checks.components.shift import check_shift
    from transformer_edu.checks.components.sinusoidal_table import check_sinusoidal_table
    from transformer_edu.checks.components.softmax import check_softmax
    from transformer_edu.checks.components.target_mask import check_target_mask
    from transformer_edu.checks.components.transformer import check_transformer
    from transformer_edu.checks.components.warmup_schedule import check_warmup_schedule
    from transformer_edu.checks.fit import check_fit
    from transformer_edu.checks.keep import keep

_FOUND: list[Component] = [module.COMPONENT for module in vars(_folder).values() if isinstance(module, ModuleType)]
_COMPONENTS = {one.name: one for one in sorted(_FOUND, key=lambda one: (one.chapter, one.name))}


def component_names() -> list[str]:
    """The names of the components that have a catalogue, in the order of the chapters."""
    return list(_COMPONENTS)


def chapter_of(component: str) -> int:
    """The number of the chapter that teaches a component."""
    return _named(component).chapter


def catalogue(component: str) -> list[Mistake]:
    """The known mistakes of one component: each has a name, a symptom, a why, a hint, and `wrong`, its code."""
    return list(_named(component).mistakes)


def _named(component: str) -> Component:
    if component not in _COMPONENTS:
        raise ValueError(f"component must be one of {', '.join(map(repr, _COMPONENTS))}, got {component!r}")
    return _COMPONENTS[component]
