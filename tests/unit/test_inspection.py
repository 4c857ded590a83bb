"""record_attention: names, shapes, nesting, and nothing left behind."""

import pytest
import torch
from torch import nn

from tests.properties.models import SOURCE, TARGET, small_model
from transformer_edu import (
    EncoderLayer,
    MultiHeadAttention,
    build_transformer,
    causal_mask,
    mask_position,
    record_attention,
)


def recorders(model):
    return [module.recorder for module in model.modules() if isinstance(module, MultiHeadAttention)]


@pytest.mark.parametrize("num_layers", [1, 3])
def test_one_map_for_each_attention_of_each_layer(num_layers):
    model = small_model(num_layers=num_layers)
    with record_attention(model) as maps:
        assert maps == {}
        model(SOURCE, TARGET)
    expected = {f"encoder.{i}.self": (3, 4, 5, 5) for i in range(num_layers)}
    expected |= {f"decoder.{i}.self": (3, 4, 6, 6) for i in range(num_layers)}
    expected |= {f"decoder.{i}.cross": (3, 4, 6, 5) for i in range(num_layers)}
    assert {name: tuple(weights.shape) for name, weights in maps.items()} == expected


def test_second_pass_overwrites_the_first():
    model = small_model()
    with record_attention(model) as maps:
        model(SOURCE, TARGET)
        first = maps["decoder.0.self"]
        model(SOURCE[:1], TARGET[:1, :2])
    assert first.shape == (3, 4, 6, 6)
    assert maps["decoder.0.self"].shape == (1, 4, 2, 2)


def test_nothing_is_recorded_outside():
    model = small_model()
    with record_attention(model) as maps:
        model.encode(SOURCE)
    model(SOURCE, TARGET)
    assert set(maps) == {"encoder.0.self", "encoder.1.self"}
    assert recorders(model) == [None] * 6


def test_the_model_is_restored_after_an_error():
    model = small_model()
    with pytest.raises(ZeroDivisionError), record_attention(model):
        _ = 1 / 0
    assert recorders(model) == [None] * 6


def test_inside_another_recording_the_inner_one_listens():
    model = small_model()
    with record_attention(model) as outer:
        with record_attention(model) as inner:
            model.encode(SOURCE)
        assert (len(outer), len(inner)) == (0, 2)
        model.encode(SOURCE)
    assert len(outer) == 2
    assert recorders(model) == [None] * 6


def test_recording_one_half_leaves_the_other_alone():
    model = small_model()
    with record_attention(model.decoder) as maps:
        model(SOURCE, TARGET)
    assert set(maps) == {"0.self", "0.cross", "1.self", "1.cross"}


def test_a_bare_attention_is_filed_under_its_kind():
    attention, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    with record_attention(attention) as maps:
        attention(x, x, x)
    assert set(maps) == {"attention"}


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

    layer = EncoderLayer(8, 2, 16, self_attention=Uniform())
    with record_attention(layer) as maps:
        layer(torch.randn(2, 4, 8))
    assert maps["self"].tolist() == torch.full((2, 1, 4, 4), 0.25).tolist()
    assert layer.self_attention.recorder is None


def test_recorded_training_step_has_the_same_gradients():
    gradients = []
    for recorded in (False, True):
        model = small_model(training=True)
        if recorded:
            with record_attention(model):
                model(SOURCE, TARGET).square().sum().backward()
        else:
            model(SOURCE, TARGET).square().sum().backward()
        gradients.append([p.grad for p in model.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-8)


def test_blocked_attention_never_reaches_its_key_and_is_free_again_afterwards() -> None:
    model = build_transformer(10, 10, d_model=8, num_heads=2, d_ff=16, num_layers=2, dropout=0.0).eval()
    source, target = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]])
    free = model(source, target)
    attentions = [layer.self_attention for layer in model.encoder.layers]
    with record_attention(model) as maps, mask_position(attentions, query=0, key=2):
        blocked = model(source, target)
    for layer in (0, 1):
        weights = maps[f"encoder.{layer}.self"]
        assert (weights[:, :, 0, 2] == 0).all()
        assert (weights[:, :, 1:] > 0).all()
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, 2, 3))
    assert not torch.allclose(free, blocked)
    torch.testing.assert_close(model(source, target), free)


def test_blocked_attention_works_without_a_mask_and_keeps_the_causal_one() -> None:
    attention = MultiHeadAttention(8, 2)
    x = torch.randn(1, 3, 8)
    with record_attention(attention) as maps, mask_position([attention], query=2, key=0):
        attention(x, x, x)
        assert (maps["attention"][:, :, 2, 0] == 0).all()
        attention(x, x, x, causal_mask(3))
        assert (maps["attention"][:, :, 0, 1:] == 0).all()


@pytest.mark.parametrize(
    ("query", "key", "error"), [(3, 0, ValueError), (0, 3, ValueError), (-1, 0, ValueError), (0.0, 1, TypeError)]
)
def test_blocked_attention_refuses_positions_that_do_not_exist(query: int, key: int, error: type[Exception]) -> None:
    attention = MultiHeadAttention(8, 2)
    x = torch.randn(1, 3, 8)
    with pytest.raises(error, match=r"query|key"), mask_position([attention], query, key):
        attention(x, x, x)
