"""Every known mistake is caught and named; the package's own implementations pass; the texts are complete."""

import inspect

import pytest
import torch

import transformer_edu as te
from transformer_edu import checks
from transformer_edu.checks import CheckFailed, Mistake
from transformer_edu.checks import batch_norm as batch_norm_check
from transformer_edu.checks import beam as beam_check
from transformer_edu.checks import decoder_layer as decoder_layer_check
from transformer_edu.checks import encoder_layer as encoder_layer_check
from transformer_edu.checks import feed_forward as feed_forward_check
from transformer_edu.checks import future_test as future_test_check
from transformer_edu.checks import heads as heads_check
from transformer_edu.checks import input_embedding as input_embedding_check
from transformer_edu.checks import layer_norm as layer_norm_check
from transformer_edu.checks import masks as masks_check
from transformer_edu.checks import parameters as parameters_check
from transformer_edu.checks import positions as positions_check
from transformer_edu.checks import residual as residual_check
from transformer_edu.checks import shift as shift_check
from transformer_edu.data.byte_pairs import learn_merges
from transformer_edu.data.packing import pack
from transformer_edu.sampling import sampling_probabilities
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
    "batches by budget": pack,
    "shifted target": shift_check.shift,
    "label smoothing": label_smoothing,
    "warm-up schedule": warmup_schedule,
    "greedy search": te.greedy_search,
    "sampling probabilities": sampling_probabilities,
    "beam search": beam_check.best_answer,
    "corpus BLEU": corpus_bleu,
}
EVERY = [(name, mistake) for name in checks.components() for mistake in checks.catalogue(name)]


pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def test_there_is_a_check_for_every_component():
    assert list(CHECKS) == checks.components()
    assert list(OWN) == checks.components()


@pytest.mark.parametrize("name", CHECKS)
def test_the_packages_own_implementation_passes(name, capsys):
    CHECKS[name](OWN[name])
    line = capsys.readouterr().out
    assert line.startswith(f"✓ {name}: ")
    assert line.endswith(" checks passed\n")


@pytest.mark.parametrize(("name", "mistake"), EVERY, ids=[f"{name}: {mistake.name}" for name, mistake in EVERY])
def test_every_known_mistake_is_caught_and_named(name: str, mistake: Mistake):
    with pytest.raises(CheckFailed) as failure:
        CHECKS[name](mistake.wrong)
    error = failure.value
    assert error.mistake is mistake
    assert error.component == name
    for text in (error.trial, mistake.name, mistake.symptom, mistake.why, mistake.hint, "Diagnosis:", "Hint:"):
        assert text in str(error)
    assert_readable(str(error))


def assert_readable(message: str):
    assert ("expected" in message and "got" in message) or "should" in message
    assert max(map(len, message.splitlines())) <= 150, "a line is too long to read"
    assert len(message.splitlines()) <= 40, "the example is not small"


@pytest.mark.parametrize("name", CHECKS)
def test_the_texts_of_a_catalogue_are_complete_and_distinct(name):
    mistakes = checks.catalogue(name)
    assert len(mistakes) >= 5
    assert len({mistake.name for mistake in mistakes}) == len(mistakes)
    for mistake in mistakes:
        assert not mistake.name.endswith(".")
        assert not mistake.symptom.endswith(".")
        assert mistake.why.endswith((".", "!", ")"))
        assert mistake.hint.endswith((".", "?", ")"))


def test_a_catalogue_is_a_copy():
    checks.catalogue("softmax").clear()
    assert checks.catalogue("softmax")


def test_an_unknown_component_is_refused_with_the_list_of_names():
    with pytest.raises(ValueError, match=r"component must be one of .*'softmax'.*got 'tokenizer'"):
        checks.catalogue("tokenizer")


def test_the_count_formula_is_the_real_models_count():
    for fields in ({}, {"norm": "pre"}, {"tie_embeddings": "target"}, {"tie_embeddings": "all"}, {"final_norm": True}):
        config = te.TransformerConfig(9, 9, d_model=8, num_heads=2, d_ff=12, num_layers=2, **fields)
        assert parameters_check.count(config) == sum(p.numel() for p in te.Transformer(config).parameters())


def test_all_public_checks_are_covered_here():
    public = {name for name in checks.__all__ if name.startswith("check_")}
    used = {"check_multi_head_split"} | {check.__name__ for check in CHECKS.values() if inspect.isfunction(check)}
    assert public <= used
