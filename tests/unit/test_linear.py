"""Products handed to oneDNN are the products that torch.nn.Linear computes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu import linear as module
from transformer_edu.linear import Linear, linear

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="PyTorch came without oneDNN")


@pytest.fixture
def handed_over(monkeypatch):
    """As on a processor where oneDNN is quicker; counts the products that it computes."""
    products, product = [], module._product
    monkeypatch.setattr(module, "_mkl_is_slow", lambda: True)
    monkeypatch.setattr(module, "_product", lambda *tensors: products.append(tensors) or product(*tensors))
    return products


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("bias", [True, False])
def test_outputs_and_gradients_are_those_of_torch(handed_over, bias):
    tensors = [draw(4, 8, 256), draw(300, 256, seed=1), draw(300, seed=2) if bias else None]
    results = []
    for function in (F.linear, linear):
        inputs = [None if tensor is None else tensor.clone().requires_grad_() for tensor in tensors]
        output = function(*inputs)
        (output * draw(4, 8, 300, seed=3)).sum().backward()
        results.append([output, *(tensor.grad for tensor in inputs if tensor is not None)])
    assert len(handed_over) == 3, "output and two gradients"
    for theirs, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=2e-4)


def test_without_gradients_the_product_is_the_same(handed_over):
    layer, x = Linear(256, 256), draw(32, 256)
    with torch.no_grad():
        without = layer(x)
    torch.testing.assert_close(without, layer(x).detach(), rtol=0, atol=0)
    assert len(handed_over) == 2


def test_frozen_weights_and_transposed_vectors_are_taken(handed_over):
    x, weight = draw(256, 32).T.requires_grad_(), draw(256, 256, seed=1)
    linear(x, weight).sum().backward()
    torch.testing.assert_close(x.grad, weight.sum(dim=0).expand_as(x), rtol=1e-4, atol=1e-4)
    assert len(handed_over) == 2, "the frozen weight gets no gradient"


@pytest.mark.parametrize(
    ("x", "weight"),
    [
        (draw(15, 256), draw(256, 256)),
        (draw(64, 64), draw(256, 64)),
        (draw(32, 256, dtype=torch.float64), draw(256, 256, dtype=torch.float64)),
    ],
    ids=["few vectors", "a small matrix", "float64"],
)
def test_everything_else_goes_the_usual_way_bit_by_bit(handed_over, x, weight):
    assert torch.equal(linear(x, weight), F.linear(x, weight))
    assert not handed_over


def test_autocast_keeps_its_lower_precision(handed_over):
    with torch.autocast("cpu", torch.bfloat16):
        assert Linear(256, 256)(draw(32, 256)).dtype == torch.bfloat16
    assert not handed_over


def test_layer_starts_with_the_weights_of_torch():
    torch.manual_seed(0)
    theirs = nn.Linear(5, 3)
    torch.manual_seed(0)
    ours = Linear(5, 3)
    assert all(torch.equal(ours.state_dict()[name], value) for name, value in theirs.state_dict().items())
    assert repr(ours) == repr(theirs)


def test_operations_are_counted_as_for_torchs_own_linear(handed_over):
    ours, theirs = Linear(256, 512), torch.nn.Linear(256, 512)
    counts = []
    for layer in (ours, theirs):
        with FlopCounterMode(display=False) as counter:
            layer(draw(4, 32, 256))
        counts.append(counter.get_total_flops())
    assert counts == [2 * 4 * 32 * 256 * 512] * 2
    assert len(handed_over) == 1
