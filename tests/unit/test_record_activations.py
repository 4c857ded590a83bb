"""record_activations: what every block puts out, and nothing left behind."""

import pytest
import torch
from torch import nn

from tests.properties.models import SOURCE, TARGET, small_model
from transformer_edu import DecoderLayer, Encoder, EncoderLayer, record_activations

ENCODER_LAYER = ["self", "after_self", "feed_forward", "after_feed_forward"]
DECODER_LAYER = ["self", "after_self", "cross", "after_cross", "feed_forward", "after_feed_forward"]


def hooks(model):
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def recorded(model):
    with record_activations(model) as activations:
        logits = model(SOURCE, TARGET)
    return activations, logits


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


def test_recording_changes_neither_the_model_nor_its_answer():
    model = small_model(training=True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    activations, logits = recorded(model)
    assert torch.equal(model(SOURCE, TARGET), logits)
    assert logits.requires_grad
    assert not any(x.requires_grad for x in activations.values())
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert hooks(model) == 0


def test_hooks_are_gone_after_an_error_and_nothing_is_recorded_outside():
    model = small_model()
    with pytest.raises(ZeroDivisionError), record_activations(model) as activations:
        _ = 1 / 0
    assert hooks(model) == 0
    model(SOURCE, TARGET)
    assert activations == {}


def test_second_pass_overwrites_the_first():
    model = small_model()
    with record_activations(model) as activations:
        model(SOURCE, TARGET)
        model(SOURCE[:1], TARGET[:1, :2])
    assert activations["decoder.1.cross"].shape == (1, 2, 16)


def test_two_recordings_at_once_both_listen():
    model = small_model()
    with record_activations(model) as outer, record_activations(model) as inner:
        model.encode(SOURCE)
    assert outer.keys() == inner.keys() == {name for name in recorded(model)[0] if name.startswith("encoder")}
    assert hooks(model) == 0


@pytest.mark.parametrize(
    ("part", "arguments", "names"),
    [
        (EncoderLayer(8, 2, 16), 1, ENCODER_LAYER),
        (DecoderLayer(8, 2, 16), 2, DECODER_LAYER),
        (Encoder([EncoderLayer(8, 2, 16)]), 1, ["positional", *(f"0.{name}" for name in ENCODER_LAYER), "output"]),
    ],
)
def test_a_part_alone_has_the_short_names(part, arguments, names):
    with record_activations(part) as activations:
        part(*[torch.randn(1, 3, 8)] * arguments)
    assert list(activations) == names


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(("model", "error"), [("model", TypeError), (None, TypeError), (nn.Linear(2, 2), ValueError)])
def test_what_cannot_be_recorded_is_refused(model, error):
    with pytest.raises(error, match=r"model must"), record_activations(model):
        pass
