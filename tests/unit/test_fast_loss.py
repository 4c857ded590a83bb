"""Projection and loss in one: the same numbers as one after the other."""

import pytest
import torch
from torch.func import grad, jvp, vmap
from torch.nn.functional import cross_entropy

from transformer_edu import label_smoothing
from transformer_edu.fast.loss import projected_loss


def inputs(dtype=torch.float64, tokens=23):
    torch.manual_seed(0)
    x = torch.randn(tokens, 8, dtype=dtype, requires_grad=True)
    weight = torch.randn(11, 8, dtype=dtype, requires_grad=True)
    return x, weight, torch.randint(1, 11, (tokens,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("rows", [1, 5, 23, 100])
def test_loss_and_gradients_equal_label_smoothing_of_the_logits(smoothing, rows):
    x, weight, target = inputs()
    ours = projected_loss(x, weight, target, smoothing, rows)
    theirs = label_smoothing(x @ weight.T, target, 0, smoothing) * len(target)
    assert abs(ours - theirs) < 1e-12 * len(target)
    for mine, other in zip(
        torch.autograd.grad(ours * 3, (x, weight)), torch.autograd.grad(theirs * 3, (x, weight)), strict=True
    ):
        assert (mine - other).abs().max() < 1e-11


def test_logits_of_large_batches_never_exist_all_at_once():
    sizes = []
    original = torch.log_softmax

    def spy(logits, *arguments, **options):
        sizes.append(len(logits))
        return original(logits, *arguments, **options)

    x, weight, target = inputs(torch.float32, 1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "log_softmax", spy)
        projected_loss(x, weight, target, rows=256)
    assert sizes == [256, 256, 256, 232]


def test_under_autocast_the_loss_stays_close_and_in_float32():
    x, weight, target = inputs(torch.float32, 600)
    exact = projected_loss(x, weight, target)
    with torch.autocast("cpu", torch.bfloat16):
        close = projected_loss(x, weight, target)
    assert close.dtype == torch.float32
    assert abs(close - exact) / exact < 0.01
    gradient = torch.autograd.grad(close, weight)[0]
    assert gradient.dtype == torch.float32
    assert (gradient - torch.autograd.grad(exact, weight)[0]).norm() / gradient.norm() < 0.02


def test_no_target_gives_zero_with_a_gradient_of_zeros():
    x, weight, _ = inputs()
    loss = projected_loss(x[:0], weight, torch.zeros(0, dtype=torch.long))
    loss.backward()
    assert loss == 0
    assert weight.grad.abs().max() == 0


def test_shapes_that_do_not_fit_are_named(as_readers_run_it):
    x, weight, target = inputs()
    with pytest.raises(ValueError, match=r"x must be \(tokens, d_model\) and target \(tokens\)"):
        projected_loss(x, weight, target[:5])


def chunked(x, weight, target):
    return projected_loss(x, weight, target, 0.1, rows=5)


def at_once(x, weight, target):
    return cross_entropy(x @ weight.T, target, label_smoothing=0.1, reduction="sum")


def gradients_of_gradients(loss, x, weight, target):
    first = torch.autograd.grad(loss(x, weight, target) * x.sum(), (x, weight), create_graph=True)
    second = torch.autograd.grad(first[0].pow(3).sum() + first[1].pow(3).sum(), (x, weight), create_graph=True)
    return [*first, *second, *torch.autograd.grad(second[1].pow(2).sum(), (x, weight))]


def frozen_weight(loss, x, weight, target):
    (first,) = torch.autograd.grad(loss(x, weight.detach(), target), x, create_graph=True)
    return torch.autograd.grad(first.pow(3).sum(), x)


def exported(loss, x, weight, target):
    class Loss(torch.nn.Module):
        def forward(self, x, weight, target):
            return loss(x, weight, target)

    rows = torch.export.Dim("tokens", max=1000)
    shapes = ({0: rows}, None, {0: rows})
    longer = (x.repeat(3, 1), weight, target.repeat(3))
    return [torch.export.export(Loss(), (x, weight, target), dynamic_shapes=shapes).module()(*longer)]


QUESTIONS = {
    "gradients of gradients": gradients_of_gradients,
    "a frozen weight": frozen_weight,
    "many gradients at once": lambda loss, x, weight, target: torch.autograd.grad(
        loss(x, weight, target), (x, weight), torch.arange(3.0).double(), is_grads_batched=True
    ),
    "func.grad": lambda loss, x, weight, target: grad(loss, (0, 1))(x, weight, target),
    "vmap": lambda loss, x, weight, target: [
        vmap(grad(loss), (0, None, 0))(x.expand(3, 23, 8), weight, target.expand(3, 23))
    ],
    "jvp": lambda loss, x, weight, target: jvp(lambda x, weight: loss(x, weight, target), (x, weight), (x, weight)),
    "jit.trace": lambda loss, *given: [torch.jit.trace(loss, given)(2 * given[0], *given[1:])],
    "export with a dynamic shape": exported,
}


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch.func uses it too
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # checks of shapes
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.long
def test_it_can_be_differentiated_again_transformed_and_traced(question, as_readers_run_it):
    ours, theirs = (QUESTIONS[question](loss, *inputs()) for loss in (chunked, at_once))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)
