"""Products handed to oneDNN are the products that torch.nn.Linear computes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad, functional
from torch.func import functional_call, grad, hessian, jvp, vmap
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu.fast import products as module
from transformer_edu.fast.linear import Linear
from transformer_edu.fast.products import linear, prepared_product

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


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("outer", [256, 5000], ids=["column by column", "a layout of the library's own"])
def test_prepared_products_are_the_same(either_path, outer, bias):
    x, weight, given = draw(4, 8, 256), draw(outer, 256, seed=1), draw(outer, seed=2) if bias else None
    with torch.no_grad():
        product = prepared_product(weight, given, x)
        for vectors in (x, x[:1], x.transpose(0, 1), 2 * x):
            torch.testing.assert_close(product(vectors), F.linear(vectors, weight, given), rtol=1e-4, atol=2e-4)
        with torch.autocast("cpu", torch.bfloat16):
            assert product(x).dtype == torch.bfloat16


def test_autocast_keeps_its_lower_precision(handed_over):
    with torch.autocast("cpu", torch.bfloat16):
        assert Linear(256, 256)(draw(32, 256)).dtype == torch.bfloat16
    assert not handed_over


def test_operations_are_counted_as_for_torchs_own_linear(handed_over):
    ours, theirs = Linear(256, 512), torch.nn.Linear(256, 512)
    counts = []
    for layer in (ours, theirs):
        with FlopCounterMode(display=False) as counter:
            layer(draw(4, 32, 256))
        counts.append(counter.get_total_flops())
    assert counts == [2 * 4 * 32 * 256 * 512] * 2
    assert len(handed_over) == 1


def cubed(layer):
    return lambda weights, x: functional_call(layer, weights, (x,)).pow(3).sum()


def gradients_of_gradients(layer, x):
    (of_x, *of_weights) = torch.autograd.grad(layer(x).pow(2).sum(), [x, *layer.parameters()], create_graph=True)
    first = sum(gradient.pow(2).sum() for gradient in (of_x, *of_weights))
    of_first = torch.autograd.grad(first, [x, *layer.parameters()], create_graph=True)
    return [*of_first, *torch.autograd.grad(of_first[1].pow(2).sum(), [x, *layer.parameters()])]


def many_gradients_at_once(layer, x):
    return torch.autograd.grad(layer(x), [x, *layer.parameters()], draw(3, 32, 256), is_grads_batched=True)


def forward_derivatives(layer, x):
    weight = layer.weight.detach()
    with forward_ad.dual_level():
        along_x = layer(forward_ad.make_dual(x, x.flip(0)))
        along_weight = functional_call(layer, {"weight": forward_ad.make_dual(weight, weight.flip(0))}, (x,))
        return [*forward_ad.unpack_dual(along_x), *forward_ad.unpack_dual(along_weight)]


def traced(layer, x):
    program = torch.jit.trace(layer, (x,))
    return [program(x.repeat(3, 1)), program(x[:2])]


def exported(layer, x):
    program = torch.export.export(layer, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},)).module()
    return [program(x.repeat(3, 1)), program(x[:2])]


def weights_in_odd_places(layer, x):
    """Columns, rows, transposes and repetitions of larger tensors; a bias of steps, of one number, at an offset."""
    weight, bias, double = layer.weight, layer.bias, draw(512, 512, seed=1)
    weights = [weight.T, double[:, ::2][:256], double[::2, :256], double[:256, 3:259], weight[:1].expand(256, 256)]
    weights += [
        weight[:, :1].expand(256, 256),
        double[:, 256:].T[:, ::2],
        double.flatten()[3 : 3 + 2**16].view(256, 256),
    ]
    biases = [draw(512)[::2], draw(1).expand(256), draw(1), draw(259)[3:], draw(256, 2)[:, 1], torch._neg_view(bias)]
    vectors = [x.T.contiguous().T, x.repeat(1, 2)[:, ::2], x[:1].expand(32, 256), x.view(4, 8, 256).transpose(0, 1)]
    cases = [(x, other, bias) for other in weights] + [(x, weight, other) for other in biases]
    outputs = [apply(layer, *case) for case in [*cases, *((other, weight, bias) for other in vectors)]]
    return [*outputs, *torch.autograd.grad(sum(y.pow(2).sum() for y in outputs), [x, weight, bias])]


def apply(layer, x, weight, bias):
    return functional_call(layer, {"weight": weight, "bias": bias}, (x,))


QUESTIONS = {
    "gradients of gradients": gradients_of_gradients,
    "many gradients at once": many_gradients_at_once,
    "vhp": lambda layer, x: functional.vhp(lambda x: layer(x).pow(3).sum(), x, x)[1:],
    "hvp": lambda layer, x: functional.hvp(lambda x: layer(x).pow(3).sum(), x, x)[1:],
    "func.grad": lambda layer, x: grad(cubed(layer))(dict(layer.named_parameters()), x).values(),
    "func.hessian": lambda layer, x: [hessian(lambda s: layer(s * x).pow(3).sum())(torch.tensor(1.5))],
    "vmap": lambda layer, x: [vmap(layer)(x.expand(4, 32, 256)), vmap(layer)(x)],
    "gradient of each example": lambda layer, x: vmap(grad(cubed(layer)), (None, 0))(
        dict(layer.named_parameters()), x.expand(4, 32, 256)
    ).values(),
    "vmap over weights": lambda layer, x: [
        vmap(lambda weight: apply(layer, x, weight, layer.bias))(layer.weight.expand(2, 256, 256))
    ],
    "func.jvp": lambda layer, x: jvp(layer, (x,), (x.flip(0),)),
    "forward derivatives": forward_derivatives,
    "jit.trace": traced,
    "export with a dynamic shape": exported,
    "odd strides": weights_in_odd_places,
    "inference mode": lambda layer, x: [torch.inference_mode()(layer)(x)],
    "float64": lambda layer, x: [layer.double()(x.double())],
}


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch.func uses it too
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.long
def test_whatever_torchs_own_layer_answers_this_one_answers(either_path, question, as_readers_run_it):
    answers = []
    for layer_type in (nn.Linear, Linear):
        torch.manual_seed(0)
        layer, x = layer_type(256, 256), draw(32, 256).requires_grad_()
        answers.append([answer.detach() for answer in QUESTIONS[question](layer, x)])
    for theirs, ours in zip(*answers, strict=True):
        assert (ours - theirs).abs().max() <= 2e-5 * theirs.abs().max()


@pytest.mark.parametrize(
    ("x", "weight", "bias"),
    [
        (draw(32, 255), draw(256, 256), None),
        (draw(32, 256), draw(256, 256), draw(300)),
        (draw(32, 64), draw(16, 64, 64), None),
        (draw(32, 256).long(), draw(256, 256), None),
    ],
    ids=["vectors too short", "bias too long", "weight of three dimensions", "whole numbers"],
)
def test_what_torch_refuses_is_refused_with_its_words(either_path, x, weight, bias, as_readers_run_it):
    words = []
    for function in (F.linear, linear):
        with pytest.raises(RuntimeError) as caught:
            function(x, weight, bias)
        words.append(str(caught.value))
    assert words[0] == words[1]
