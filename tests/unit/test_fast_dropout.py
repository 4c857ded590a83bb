"""Dropout: PyTorch's own for small tensors, the quicker one for large tensors on a CPU."""

import pytest
import torch
from torch.func import grad, jvp, vmap
from torch.nn import functional

from transformer_edu.fast.dropout import LARGE, Dropout, dropout


def ones(entries=LARGE):
    return torch.ones(entries // 64, 64)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_share_of_zeros_is_p_and_the_mean_stays(p):
    torch.manual_seed(0)
    x = dropout(ones(LARGE * 4), p)
    assert abs((x == 0).double().mean() - p) < 0.003
    assert abs(x.double().mean() - 1) < 0.02
    kept = x[x != 0]
    assert (kept == kept[0]).all()
    assert abs(kept[0] - 1 / (1 - p)) < 2e-4 / (1 - p)


def test_zeros_fall_independently_of_place_and_of_neighbours():
    torch.manual_seed(0)
    dropped = (dropout(ones(LARGE * 4), 0.5) == 0).double().flatten()
    for period in (2, 4, 8, 64):  # four numbers come from one draw
        shares = dropped.view(-1, period).mean(dim=0)
        assert (shares - 0.5).abs().max() < 5 * 0.5 / (len(dropped) / period) ** 0.5  # five standard errors
    for distance in (1, 2, 3, 4, 64):
        together = (dropped[:-distance] * dropped[distance:]).mean()
        assert abs(together - 0.25) < 0.005


def test_the_same_seed_draws_the_same_zeros():
    torch.manual_seed(3)
    first = dropout(ones(), 0.3)
    torch.manual_seed(3)
    assert torch.equal(dropout(ones(), 0.3), first)


def test_small_tensors_draw_as_pytorch_does():
    x = ones(LARGE - 64)
    torch.manual_seed(1)
    ours = dropout(x, 0.3)
    torch.manual_seed(1)
    assert torch.equal(ours, functional.dropout(x, 0.3))


def test_odd_sizes_and_shapes_work():
    x = torch.ones(3, 7, LARGE // 20 + 1, dtype=torch.float64)
    y = dropout(x, 0.25)
    assert y.shape == x.shape
    assert y.dtype == x.dtype


def test_nothing_is_drawn_at_zero_or_in_evaluation_mode():
    state = torch.get_rng_state()
    x = ones()
    assert torch.equal(dropout(x, 0.0), x)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(torch.get_rng_state(), state)


def traced(function):
    return torch.jit.trace(function, (torch.ones(4, 64),), check_trace=False)(ones())


def exported(function):
    class Drop(torch.nn.Module):
        def forward(self, x):
            return function(x)

    rows = torch.export.Dim("rows")
    return torch.export.export(Drop(), (ones(),), dynamic_shapes=({0: rows},)).module()(ones(LARGE + 640))


TRANSFORMED = {
    "func.grad": lambda f: grad(lambda x: f(x).pow(3).sum())(ones()),
    "jvp": lambda f: torch.stack(jvp(f, (ones(),), (2 * ones(),))),
    "vmap, one mask for each": lambda f: vmap(f, randomness="different")(torch.ones(3, LARGE)),
    "vmap, one mask for all": lambda f: vmap(f, randomness="same")(torch.ones(3, LARGE)),
    "jit.trace": traced,
    "export with a dynamic shape": exported,
}


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch.func uses it too
@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.long
def test_under_torchs_transforms_it_is_torchs_own(transform, as_readers_run_it):
    answers = []
    for function in (functional.dropout, dropout):
        torch.manual_seed(0)
        answers.append(TRANSFORMED[transform](lambda x, function=function: function(x, 0.3)))
    assert torch.equal(*answers)


def test_vmap_that_is_not_told_how_to_draw_refuses_as_torch_does():
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda x: dropout(x, 0.3))(torch.ones(3, LARGE))


def test_the_gradient_passes_where_the_entry_was_kept_and_can_be_differentiated_again():
    x = ones().requires_grad_()
    y = dropout(x, 0.3)
    (mask,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert torch.equal(mask, y.detach())
    (first,) = torch.autograd.grad(y.pow(3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 6 * y.detach().pow(3))  # at x = 1, y is the mask


def test_all_but_never_keeping_an_entry_is_a_probability_too():
    assert dropout(ones(), 1 - 2**-30).count_nonzero() < 5
