"""Parts taken out of the grammar model and of the translator: each alone, and really out."""

import math

import pytest
import torch
from experiments import ablations, multi30k_ablation

from tests.unit.conftest import SMALL
from transformer_edu import recordings
from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.normalization import LayerNorm
from transformer_edu.residual import ResidualConnection
from transformer_edu.training.grammar_model import WARMUP_STEPS, grammar_learning_rate, new_grammar_model

pytestmark = pytest.mark.usefixtures("at_readers_speed")
SOURCE = torch.tensor([[5, 6, 7, 8, 9]])
TARGET = torch.tensor([[1, 5, 6, 7]])
ABLATIONS = {ablation.part: ablation for ablation in ablations.ablations()}


def whole():
    return new_grammar_model(0).eval()


def without(part):
    return ablations.new_ablated_model(ABLATIONS[part], 0).eval()


@pytest.mark.parametrize("part", ABLATIONS)
def test_what_is_left_starts_with_the_weights_of_the_whole_model_and_computes_something_else(part):
    model, before = without(part), whole().state_dict()
    assert set(model.state_dict()) <= set(before)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    difference = (model(SOURCE, TARGET) - whole()(SOURCE, TARGET)).abs().max()
    assert difference > 0.01 if ABLATIONS[part].of == "model" else difference == 0


def test_each_ablation_changes_one_thing():
    recipe, *others = ABLATIONS.values()
    for other in others:
        assert sum(vars(other)[name] != value for name, value in vars(recipe).items()) == 3  # its part, of what, and it


def test_without_positions_the_encoder_does_not_know_the_order():
    order = torch.tensor([3, 0, 4, 1, 2])
    for model, knows in ((without("positions"), False), (whole(), True)):
        difference = model.encode(SOURCE)[:, order] - model.encode(SOURCE[:, order])
        assert (difference.abs().max() > 1e-3) == knows


def test_without_residual_connections_a_silent_sublayer_leaves_nothing():
    residual = next(part for part in without("residual connections").modules() if isinstance(part, ResidualConnection))
    assert residual(torch.randn(1, 3, 64), torch.zeros_like).abs().max() == 0


def test_without_layer_norm_none_is_left_and_without_several_heads_one():
    for model, norms, heads in ((without("layer norm"), False, 4), (without("several heads"), True, 1)):
        assert any(isinstance(part, LayerNorm) for part in model.modules()) is norms
        assert model.encoder.layers[0].self_attention.num_heads == heads


def test_without_feed_forward_a_layer_is_its_attention():
    model, x = without("feed-forward"), torch.randn(1, 3, 64)
    layer = model.encoder.layers[0]
    residual = next(part for part in layer.modules() if isinstance(part, ResidualConnection))
    torch.testing.assert_close(layer(x), residual(x, lambda h: layer.self_attention(h, h, h)))
    assert not [name for name, _ in model.named_parameters() if "feed_forward" in name]


def test_without_the_relu_the_feed_forward_part_is_affine():
    a, b = torch.randn(2, 1, 3, 64)
    for model, is_affine in ((without("its ReLU"), True), (whole(), False)):
        part = model.decoder.layers[1].feed_forward
        assert torch.allclose(part(a) + part(b), part(a + b) + part(torch.zeros_like(a)), atol=1e-4) is is_affine


def test_without_scaling_the_scores_are_the_products():
    attention = without("1/√d_k").encoder.layers[0].self_attention
    x, (k, v) = torch.randn(1, 3, 64), torch.randn(2, 1, 4, 3, 16)
    q = attention.split_heads(attention.query_projection(x))
    expected = scaled_dot_product_attention(q * math.sqrt(16), k, v)[0]
    torch.testing.assert_close(expected, torch.softmax(q @ k.transpose(-2, -1), -1) @ v)
    merged = attention.output_projection(attention.merge_heads(expected))
    torch.testing.assert_close(attention.attend(x, (k, v)), merged)


def test_recipes_without_warm_up_and_without_the_fall():
    peak = grammar_learning_rate(WARMUP_STEPS)
    assert ablations.no_warm_up(1) == ablations.no_fall(10 * WARMUP_STEPS) == peak
    assert ablations.no_warm_up(900) == grammar_learning_rate(900) < peak
    assert ablations.no_fall(7) == grammar_learning_rate(7) < peak


@pytest.mark.long
def test_a_run_is_decided_by_its_seed_and_another_process_finds_the_same():
    runs = [ablations.run_ablation(ABLATIONS["its ReLU"], seed, steps=2, sentences=4) for seed in (0, 1)]
    assert runs[0]["loss_curve"] != runs[1]["loss_curve"]
    found = ablations.record_ablations((0, 1), steps=2, sentences=4, parts=("its ReLU",), processes=1)
    stored = recordings.load("ablations")["data"]
    assert found["ablations"] == [{"part": "its ReLU", "of": "model", "parameters": 189_568, "runs": runs}]
    assert (found.keys(), found["ablations"][0].keys()) == (stored.keys(), stored["ablations"][0].keys())
    assert [ablation["part"] for ablation in stored["ablations"]] == list(ABLATIONS)


@pytest.mark.parametrize("one", multi30k_ablation.ABLATIONS, ids=lambda ablation: ablation.part)
@pytest.mark.long
def test_the_translator_trains_without_each_part(one, parallel_text):
    found = multi30k_ablation.run_multi30k_ablation(one, **{**SMALL, **parallel_text, "steps": 2, "every": 2})
    assert found["part"] == one.part
    assert found["step"] == 2
    assert found["validation_loss"] > 0


def test_a_run_that_fails_says_why(parallel_text, monkeypatch):
    def fail(_):
        raise FloatingPointError("loss must stay finite")

    monkeypatch.setattr(multi30k_ablation.Trainer, "run", fail)
    found = multi30k_ablation.run_multi30k_ablation(multi30k_ablation.ABLATIONS[0], **{**SMALL, **parallel_text})
    assert found == {"part": "nothing", "failed": "loss must stay finite"}
