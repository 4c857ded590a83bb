"""What record_attention and record_activations file, under which names, and that they leave nothing behind."""

import pytest
import torch
from torch import nn

from tests.properties.models import SOURCE, TARGET, small_model, traces
from transformer_edu import (
    Encoder,
    EncoderLayer,
    MultiHeadAttention,
    ResidualConnection,
    build_decoder_layer,
    build_encoder_layer,
    record_activations,
    record_attention,
)

ENCODER_LAYER = ["self", "after_self", "feed_forward", "after_feed_forward"]
DECODER_LAYER = ["self", "after_self", "cross", "after_cross", "feed_forward", "after_feed_forward"]
EITHER = pytest.mark.parametrize("record", [record_attention, record_activations])


def recorded(model, record=record_activations):
    with record(model) as found:
        logits = model(SOURCE, TARGET)
    return found, logits


@EITHER
def test_recording_changes_neither_the_model_nor_its_answer(record):
    model = small_model(training=True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    untouched = traces(model)
    found, logits = recorded(model, record)
    torch.testing.assert_close(model(SOURCE, TARGET), logits)
    assert logits.requires_grad
    assert not any(x.requires_grad for x in found.values())
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert traces(model) == untouched


@EITHER
def test_a_second_pass_overwrites_the_first_and_nothing_is_recorded_outside(record):
    model = small_model()
    with record(model) as found:
        model(SOURCE, TARGET)
        first = found["decoder.1.cross"]
        model(SOURCE[:1], TARGET[:1, :2])
    model(SOURCE, TARGET)
    assert first.shape[0] == 3
    assert found["decoder.1.cross"].shape[0] == 1


@EITHER
def test_the_model_is_restored_after_an_error(record):
    model = small_model()
    untouched = traces(model)
    with pytest.raises(ZeroDivisionError), record(model):
        _ = 1 / 0
    assert traces(model) == untouched


@pytest.mark.parametrize("num_layers", [1, 3])
def test_one_map_for_each_attention_of_each_layer(num_layers):
    expected = {f"encoder.{i}.self": (3, 4, 5, 5) for i in range(num_layers)}
    expected |= {f"decoder.{i}.self": (3, 4, 6, 6) for i in range(num_layers)}
    expected |= {f"decoder.{i}.cross": (3, 4, 6, 5) for i in range(num_layers)}
    maps, _ = recorded(small_model(num_layers=num_layers), record_attention)
    assert {name: tuple(weights.shape) for name, weights in maps.items()} == expected


@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_block_is_filed_in_the_order_of_computation(num_layers, norm):
    activations, _ = recorded(small_model(num_layers=num_layers, norm=norm))
    expected = []
    for half, blocks in (("encoder", ENCODER_LAYER), ("decoder", DECODER_LAYER)):
        layers = [f"{half}.{i}.{block}" for i in range(num_layers) for block in blocks]
        expected += [f"{half}.embedding", f"{half}.positional", *layers, f"{half}.output"]
    assert list(activations) == [*expected, "logits"]
    shapes = {name: (3, 5, 16) if name.startswith("encoder") else (3, 6, 16) for name in expected}
    assert {name: tuple(x.shape) for name, x in activations.items()} == shapes | {"logits": (3, 6, 9)}


def test_embedding_position_and_ends_are_the_models_own():
    model = small_model()
    activations, logits = recorded(model)
    for half, embedding, ids in (
        ("encoder", model.source_embedding, SOURCE),
        ("decoder", model.target_embedding, TARGET),
    ):
        words = embedding.lookup.weight[ids] * 16**0.5
        torch.testing.assert_close(activations[f"{half}.embedding"], words)
        torch.testing.assert_close(
            activations[f"{half}.positional"], words + model.positional_encoding.table[: ids.shape[1]]
        )
    memory = model.encode(SOURCE)
    assert torch.equal(activations["encoder.output"], memory)
    assert torch.equal(activations["decoder.output"], model.decode(TARGET, memory, SOURCE))
    assert torch.equal(activations["logits"], logits)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_blocks_of_a_layer_follow_from_one_another(norm):
    model = small_model(norm=norm)
    a, _ = recorded(model)
    for half, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        x = a[f"{half}.positional"]
        for i, layer in enumerate(layers):
            steps = [("self", layer.self_attention_residual), ("feed_forward", layer.feed_forward_residual)]
            if half == "decoder":
                steps.insert(1, ("cross", layer.cross_residual))
            for block, residual in steps:
                if block == "feed_forward":
                    inner = residual.norm(x) if norm == "pre" else x
                    torch.testing.assert_close(a[f"{half}.{i}.feed_forward"], layer.feed_forward(inner))
                total = x + a[f"{half}.{i}.{block}"]
                x = total if norm == "pre" else residual.norm(total)
                torch.testing.assert_close(a[f"{half}.{i}.after_{block}"], x)
        torch.testing.assert_close(a[f"{half}.output"], getattr(model, half).final_norm(x))


def test_of_two_recordings_both_hear_activations_and_the_inner_one_attention():
    model = small_model()
    with record_activations(model) as outer, record_activations(model) as inner:
        model.encode(SOURCE)
    assert outer.keys() == inner.keys() == {name for name in recorded(model)[0] if name.startswith("encoder")}
    with record_attention(model) as outer:
        with record_attention(model) as inner:
            model.encode(SOURCE)
        assert (len(outer), len(inner)) == (0, 2)
        model.encode(SOURCE)
    assert len(outer) == 2


@pytest.mark.parametrize(
    ("record", "part", "arguments", "names"),
    [
        (record_activations, build_encoder_layer(8, 2, 16), 1, ENCODER_LAYER),
        (record_activations, build_decoder_layer(8, 2, 16), 2, DECODER_LAYER),
        (
            record_activations,
            Encoder([build_encoder_layer(8, 2, 16)]),
            1,
            ["positional", *(f"0.{name}" for name in ENCODER_LAYER), "output"],
        ),
        (record_attention, MultiHeadAttention(8, 2), 3, ["attention"]),
        (record_attention, build_decoder_layer(8, 2, 16), 2, ["self", "cross"]),
        (record_attention, Encoder([build_encoder_layer(8, 2, 16)]), 1, ["0.self"]),
    ],
)
def test_a_part_alone_has_the_short_names(record, part, arguments, names):
    with record(part) as found:
        part(*[torch.randn(1, 3, 8)] * arguments)
    assert list(found) == names


def test_a_custom_attention_with_a_recorder_is_recorded():
    class Uniform(nn.Module):
        """Looks at all keys alike."""

        def __init__(self):
            super().__init__()
            self.recorder = None

        def forward(self, query, key, value, mask=None):
            weights = torch.full((query.shape[0], 1, query.shape[1], key.shape[1]), 1 / key.shape[1])
            if self.recorder is not None:
                self.recorder(weights)
            return value.mean(1, keepdim=True).expand_as(query)

    layer = EncoderLayer(Uniform(), nn.Identity(), ResidualConnection(nn.Identity()))
    with record_attention(layer) as maps:
        layer(torch.randn(2, 4, 8))
    assert maps["self"].tolist() == torch.full((2, 1, 4, 4), 0.25).tolist()
    assert layer.self_attention.recorder is None


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(("model", "error"), [("model", TypeError), (None, TypeError), (nn.Linear(2, 2), ValueError)])
def test_what_cannot_be_recorded_is_refused(model, error):
    with pytest.raises(error, match=r"model must"), record_activations(model):
        pass
