"""The assembled model: shapes, weights, tying, parts that can be replaced."""

import jaxtyping
import pytest
import torch
from torch import nn

from transformer_edu import (
    DecoderLayer,
    EncoderLayer,
    InputEmbedding,
    LayerNorm,
    PositionwiseFeedForward,
    ResidualConnection,
    RMSNorm,
    Transformer,
    build_transformer,
    checks,
)

SMALL = {"d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 2, "dropout": 0.0, "max_len": 20}
SOURCE, TARGET = torch.tensor([[3, 4, 5, 0]]), torch.tensor([[1, 6, 7]])


def test_dropout_acts_in_training_only():
    model = build_transformer(10, 12, **SMALL | {"dropout": 0.5})
    assert not torch.allclose(model(SOURCE, TARGET), model(SOURCE, TARGET))
    model.eval()
    torch.testing.assert_close(model(SOURCE, TARGET), model(SOURCE, TARGET))


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_tied_matrices_are_one_parameter_before_and_after_a_step(tie):
    model = build_transformer(12, 12, **SMALL, tie_embeddings=tie)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(SOURCE, TARGET).square().sum().backward()
    optimizer.step()
    source, target = model.source_embedding.lookup.weight, model.target_embedding.lookup.weight
    assert (model.projection.linear.weight is target) == (tie != "none")
    assert (source is target) == (tie == "all")


def test_built_matrices_are_xavier_uniform_embeddings_normal_and_biases_zero():
    torch.manual_seed(0)
    model = build_transformer(100, 100, **SMALL)
    for name, parameter in model.named_parameters():
        if name.endswith("lookup.weight"):
            assert abs(parameter.std() * SMALL["d_model"] ** 0.5 - 1) < 0.1, name
        elif parameter.dim() > 1:
            bound = (6 / sum(parameter.shape)) ** 0.5
            assert 0.8 * bound < parameter.abs().max() <= bound, name
        else:
            assert torch.equal(parameter, torch.full_like(parameter, float(name.endswith("norm.weight")))), name


def test_an_embedding_starts_with_vectors_of_variance_one():
    checks.check_input_embedding(InputEmbedding)


def test_a_model_is_printed_on_half_a_page_with_what_each_part_learns():
    model = build_transformer(37_000, 37_000, d_model=16, num_heads=2, d_ff=32, tie_embeddings="all")
    lines = str(model).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 72
    counts = {line.split(":")[0].split()[0]: int(line.split()[-1].replace(",", "")) for line in lines}
    assert counts["Transformer"] == sum(parameter.numel() for parameter in model.parameters())
    assert counts["Transformer"] == counts["encoder"] + counts["decoder"] + counts["projection"]
    assert "    layers: 6 × DecoderLayer" in str(model)


def test_no_two_layers_start_alike():
    first, second = build_transformer(10, 12, **SMALL).encoder.layers
    assert not torch.equal(first.feed_forward.expand.weight, second.feed_forward.expand.weight)


def test_another_padding_id_is_the_one_that_is_hidden():
    model = build_transformer(10, 12, **SMALL, pad_id=9)
    padded = torch.tensor([[3, 4, 9, 9]])
    torch.testing.assert_close(model(padded, TARGET), model(padded[:, :2], TARGET))
    assert not torch.allclose(model(torch.tensor([[3, 4, 0, 0]]), TARGET), model(padded[:, :2], TARGET))


def test_int32_ids_give_the_logits_of_int64_ids():
    model = build_transformer(10, 12, **SMALL)
    torch.testing.assert_close(model(SOURCE.int(), TARGET.int()), model(SOURCE, TARGET))


@pytest.mark.parametrize(("activation", "reference"), [("relu", nn.ReLU()), ("gelu", nn.GELU())])
def test_feed_forward_bends_by_the_activation_that_is_named(activation, reference):
    feed_forward, x = PositionwiseFeedForward(8, 16, activation=activation), torch.randn(2, 5, 8)
    torch.testing.assert_close(feed_forward(x), feed_forward.contract(reference(feed_forward.expand(x))))


def test_residual_dropout_falls_on_the_sublayer_not_on_x():
    torch.manual_seed(0)
    residual, x = ResidualConnection(LayerNorm(64), dropout=0.5, pre=True), torch.zeros(4, 8, 64)
    out = residual(x + 1, torch.ones_like)
    assert set(out.unique().tolist()) == {1.0, 3.0}


@pytest.mark.parametrize("layer_type", [EncoderLayer, DecoderLayer])
def test_every_part_can_be_replaced(layer_type):
    class Nothing(nn.Module):
        def forward(self, query, key, value, mask=None):
            return torch.zeros_like(query)

    crossing = {"cross_attention": Nothing()} if layer_type is DecoderLayer else {}
    residual = ResidualConnection(RMSNorm(8), pre=True)
    layer = layer_type(self_attention=Nothing(), feed_forward=nn.Sequential(), residual=residual, **crossing)
    x = torch.randn(1, 3, 8)
    out = layer(x, x) if crossing else layer(x)
    torch.testing.assert_close(out, x + layer.feed_forward_residual.norm(x))
    assert {type(m).__name__ for m in layer.modules()} >= {"RMSNorm", "Nothing"}
    assert not any(isinstance(m, nn.LayerNorm | PositionwiseFeedForward) for m in layer.modules())


def test_bfloat16_model_runs_and_agrees_roughly():
    torch.manual_seed(0)
    model = build_transformer(10, 12, **SMALL)
    expected = model(SOURCE, TARGET)
    rounded = model.to(torch.bfloat16)(SOURCE, TARGET)
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), expected, atol=0.1, rtol=0.1)


@pytest.mark.skipif(jaxtyping.config.jaxtyping_disable, reason="JAXTYPING_DISABLE is set")
def test_annotated_shapes_are_checked_while_the_tests_run():
    attention = build_transformer(10, 12, **SMALL).encoder.layers[0].self_attention
    with pytest.raises(jaxtyping.TypeCheckError, match="batch seq d_model"):
        attention.split_heads(torch.ones(3, 8))


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_a_model_built_without_memory_becomes_the_one_whose_weights_it_loads(tie):
    model = build_transformer(12, 12, **SMALL, tie_embeddings=tie)
    with torch.device("meta"):
        empty = Transformer(model.config)
    empty.to_empty(device="cpu").load_state_dict(model.state_dict())
    assert torch.equal(empty(SOURCE, TARGET), model(SOURCE, TARGET))
    assert len(list(empty.parameters())) == len(list(model.parameters())), "what was tied is tied"
