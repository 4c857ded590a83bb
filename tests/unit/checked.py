"""Every check by its component's name, and the package's own implementation of each component."""

import torch

import transformer_edu as te
from transformer_edu import checks
from transformer_edu.checks.components import beam_search as beam_check
from transformer_edu.checks.components import decoder_layer as decoder_layer_check
from transformer_edu.checks.components import encoder_layer as encoder_layer_check
from transformer_edu.checks.components import feed_forward as feed_forward_check
from transformer_edu.checks.components import input_embedding as input_embedding_check
from transformer_edu.checks.components import layer_norm as layer_norm_check
from transformer_edu.checks.components import leak_check as future_test_check
from transformer_edu.checks.components import masked_batch_norm as batch_norm_check
from transformer_edu.checks.components import masks as masks_check
from transformer_edu.checks.components import multi_head_split as heads_check
from transformer_edu.checks.components import parameter_count as parameters_check
from transformer_edu.checks.components import positions as positions_check
from transformer_edu.checks.components import residual as residual_check
from transformer_edu.checks.components import shift as shift_check
from transformer_edu.data.byte_pairs import learn_merges
from transformer_edu.data.token_budget import token_budget_batches
from transformer_edu.decoding.sampling import sampling_probabilities
from transformer_edu.training.bleu import corpus_bleu
from transformer_edu.training.loss import label_smoothing
from transformer_edu.training.schedule import warmup_schedule

CHECKS = {
    "byte-pair merges": checks.check_byte_pair_merges,
    "input embedding": checks.check_input_embedding,
    "sinusoidal table": checks.check_sinusoidal_table,
    "position rotation": checks.check_position_rotation,
    "positional encoding": checks.check_positional_encoding,
    "layer normalization": checks.check_layer_norm,
    "masked batch normalization": checks.check_masked_batch_norm,
    "softmax": checks.check_softmax,
    "attention": checks.check_scaled_dot_product_attention,
    "causal mask": checks.check_causal_mask,
    "padding mask": checks.check_padding_mask,
    "target mask": checks.check_target_mask,
    "split and merge": lambda pair: checks.check_multi_head_split(*pair),
    "feed-forward network": checks.check_feed_forward,
    "residual connection": checks.check_residual,
    "encoder layer": checks.check_encoder_layer,
    "decoder layer": checks.check_decoder_layer,
    "future-leak test": checks.check_future_test,
    "transformer": checks.check_transformer,
    "parameter count": checks.check_parameter_count,
    "batches by budget": checks.check_pack,
    "shifted target": checks.check_shift,
    "label smoothing": checks.check_label_smoothing,
    "warm-up schedule": checks.check_warmup_schedule,
    "greedy search": checks.check_greedy_search,
    "sampling probabilities": checks.check_sampling_probabilities,
    "beam search": checks.check_beam_search,
    "corpus BLEU": checks.check_corpus_bleu,
}
OWN = {
    "byte-pair merges": learn_merges,
    "input embedding": input_embedding_check.ScaledEmbedding,
    "sinusoidal table": te.sinusoidal_table,
    "position rotation": positions_check.rotation,
    "positional encoding": te.PositionalEncoding,
    "layer normalization": layer_norm_check.layer_norm,
    "masked batch normalization": batch_norm_check.masked_batch_norm,
    "softmax": lambda scores: torch.softmax(scores, dim=-1),
    "attention": te.scaled_dot_product_attention,
    "causal mask": te.causal_mask,
    "padding mask": te.padding_mask,
    "target mask": masks_check.both_masks,
    "split and merge": (heads_check.split_heads, heads_check.merge_heads),
    "feed-forward network": feed_forward_check.feed_forward,
    "residual connection": residual_check.residual,
    "encoder layer": encoder_layer_check.encoder_layer,
    "decoder layer": decoder_layer_check.decoder_layer,
    "future-leak test": future_test_check.sees_the_future,
    "transformer": te.build_transformer,
    "parameter count": parameters_check.count,
    "batches by budget": token_budget_batches,
    "shifted target": shift_check.shift,
    "label smoothing": label_smoothing,
    "warm-up schedule": warmup_schedule,
    "greedy search": te.greedy_search,
    "sampling probabilities": sampling_probabilities,
    "beam search": beam_check.best_answer,
    "corpus BLEU": corpus_bleu,
}
