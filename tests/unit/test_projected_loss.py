"""Projection and loss in one: the same numbers as one after the other."""

import pytest
import torch

from transformer_edu import label_smoothing
from transformer_edu.training.projected_loss import projected_loss


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
