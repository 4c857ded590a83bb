"""Parts taken out of the grammar model: each alone, and really out."""

import math

import pytest
import torch
from torch import nn

from tests.unit.conftest import SMALL
from transformer_edu import recordings
from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.experiments import ablation, multi30k_ablation
from transformer_edu.normalization import LayerNorm
from transformer_edu.training.grammar_model import WARMUP_STEPS, grammar_learning_rate, new_grammar_model

pytestmark = pytest.mark.usefixtures("at_readers_speed")
SOURCE = torch.tensor([[5, 6, 7, 8, 9]])
TARGET = torch.tensor([[1, 5, 6, 7]])
PARTS = [one.part for one in ablation.ablations()]


def without(part, seed=0):
    chosen = next(one for one in ablation.ablations() if one.part == part)
    return ablation.new_ablated_model(chosen, seed).eval()


@pytest.mark.parametrize("part", PARTS)
def test_what_is_left_starts_with_the_weights_of_the_whole_model(part):
    whole, left = new_grammar_model(0).state_dict(), without(part).state_dict()
    assert set(left) <= set(whole)
    assert all(torch.equal(left[name], whole[name]) for name in left)


@pytest.mark.parametrize("part", PARTS[1:8])
def test_a_model_without_a_part_gives_other_logits(part):
    whole = new_grammar_model(0).eval()(SOURCE, TARGET)
    logits = without(part)(SOURCE, TARGET)
    assert logits.shape == whole.shape
    assert (logits - whole).abs().max() > 0.01


def test_nothing_taken_out_is_the_recipe():
    assert torch.equal(without("nothing")(SOURCE, TARGET), new_grammar_model(0).eval()(SOURCE, TARGET))


def test_without_positions_the_encoder_does_not_know_the_order():
    model, order = without("positions"), torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(model.encode(SOURCE)[:, order], model.encode(SOURCE[:, order]))
    whole = new_grammar_model(0).eval()
    assert (whole.encode(SOURCE)[:, order] - whole.encode(SOURCE[:, order])).abs().max() > 0.1


def test_without_residual_connections_a_silent_sublayer_leaves_nothing():
    residual = without("residual connections").encoder.layers[0].attend_residual
    assert residual(torch.randn(1, 3, 64), torch.zeros_like).abs().max() == 0


def test_without_layer_norm_none_is_left():
    assert not [part for part in without("layer norm").modules() if isinstance(part, LayerNorm)]
    assert [part for part in new_grammar_model(0).modules() if isinstance(part, LayerNorm)]


def test_without_feed_forward_a_layer_is_its_attention():
    model = without("feed-forward")
    x = torch.randn(1, 3, 64)
    layer = model.encoder.layers[0]
    torch.testing.assert_close(layer(x), layer.attend_residual(x, lambda h: layer.self_attention(h, h, h)))
    assert not [name for name, _ in model.named_parameters() if "feed_forward" in name]


def test_without_the_relu_the_feed_forward_part_is_affine():
    a, b = torch.randn(2, 1, 3, 64)
    zero = torch.zeros_like(a)
    for model, is_affine in ((without("its ReLU"), True), (new_grammar_model(0).eval(), False)):
        part = model.decoder.layers[1].feed_forward
        assert torch.allclose(part(a) + part(b), part(a + b) + part(zero), atol=1e-4) is is_affine


def test_without_scaling_the_scores_are_the_products():
    attention = without("1/√d_k").encoder.layers[0].self_attention
    q, k, v = torch.randn(3, 1, 4, 3, 16)
    expected = scaled_dot_product_attention(q * math.sqrt(16), k, v)[0]
    torch.testing.assert_close(
        attention.attend(q, k, v, None), attention.output_projection(attention.merge_heads(expected))
    )
    torch.testing.assert_close(expected, torch.softmax(q @ k.transpose(-2, -1), -1) @ v)


def test_one_head_in_place_of_several():
    model = without("several heads")
    assert model.encoder.layers[0].self_attention.num_heads == 1
    assert new_grammar_model(0).encoder.layers[0].self_attention.num_heads == 4


def test_recipes_without_warm_up_and_without_the_fall():
    peak = grammar_learning_rate(WARMUP_STEPS)
    assert ablation.no_warm_up(1) == ablation.no_fall(10 * WARMUP_STEPS) == peak
    assert ablation.no_warm_up(900) == grammar_learning_rate(900) < peak
    assert ablation.no_fall(7) == grammar_learning_rate(7) < peak


def test_each_ablation_changes_one_thing():
    whole, *others = ablation.ablations()
    for one in others:
        assert (
            sum(getattr(one, name) != getattr(whole, name) for name in vars(whole) if name not in ("part", "of")) == 1
        )


def test_what_takes_the_place_of_a_part_keeps_its_weights_of_the_same_name():
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3)))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    ablation.take_out(model, nn.Linear, lambda part: nn.Linear(3, 3, bias=False))
    assert set(model.state_dict()) == {"0.weight", "1.0.weight"}
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_run_is_decided_by_its_seed():
    one = next(a for a in ablation.ablations() if a.part == "its ReLU")
    first, again = (ablation.run_ablation(one, seed=1, steps=3, sentences=4) for _ in range(2))
    other = ablation.run_ablation(one, seed=2, steps=3, sentences=4)
    assert first == again
    assert first["loss_curve"] != other["loss_curve"]
    assert first["held_out"]["sentences"] == 4


def test_several_processes_find_what_one_finds():
    found = ablation.record_ablations((0, 1), steps=2, parts=("nothing", "dropout"), processes=2)
    assert [one["part"] for one in found["ablations"]] == ["nothing", "dropout"]
    assert found["ablations"][1]["parameters"] == 189_568
    dropout = next(a for a in ablation.ablations() if a.part == "dropout")
    assert found["ablations"][1]["runs"][1] == ablation.run_ablation(dropout, 1, steps=2)


@pytest.mark.parametrize("one", multi30k_ablation.ABLATIONS, ids=lambda one: one.part)
def test_the_translator_trains_without_each_part(one, parallel_text):
    found = multi30k_ablation.run_real_ablation(one, **{**SMALL, **parallel_text, "steps": 2, "every": 2})
    assert found["part"] == one.part
    assert found["step"] == 2
    assert found["validation_loss"] > 0


def test_a_run_that_fails_says_why(parallel_text, monkeypatch):
    monkeypatch.setattr(multi30k_ablation.Trainer, "run", raises_floating_point_error)
    found = multi30k_ablation.run_real_ablation(multi30k_ablation.ABLATIONS[0], **{**SMALL, **parallel_text})
    assert found == {"part": "nothing", "failed": "loss must stay finite"}


def raises_floating_point_error(_):
    raise FloatingPointError("loss must stay finite")


def test_recording_is_complete():
    data = recordings.load("ablations")["data"]
    assert [one["part"] for one in data["ablations"]] == PARTS
    assert all([run["seed"] for run in one["runs"]] == [0, 1, 2] for one in data["ablations"])
