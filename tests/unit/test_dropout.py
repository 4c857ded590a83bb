"""Dropout: PyTorch's own for small tensors, the quicker one for large tensors on a CPU."""

import pytest
import torch
from torch.nn import functional

from transformer_edu import MultiHeadAttention
from transformer_edu.dropout import LARGE, Dropout, dropout


def ones(entries: int = LARGE) -> torch.Tensor:
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


def test_the_gradient_passes_where_the_entry_was_kept():
    x = ones().requires_grad_()
    y = dropout(x, 0.3)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


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
    assert dropout(x, 0.0) is x
    assert Dropout(0.5).eval()(x) is x
    assert torch.equal(torch.get_rng_state(), state)
    assert repr(Dropout(0.5)) == "Dropout(p=0.5)"


@pytest.mark.parametrize("p", [-0.1, 1.0, 2.0])
def test_a_probability_out_of_range_is_named(p):
    with pytest.raises(ValueError, match=r"p must be in \[0, 1\), got"):
        Dropout(p)


def test_attention_in_training_drops_large_weights_too():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, dropout=0.5).train()
    x = torch.randn(8, 130, 8)  # 8 x 2 x 130 x 130 weights
    assert not torch.equal(attention(x, x, x), attention(x, x, x))
    means = torch.stack([attention(x, x, x) for _ in range(60)]).mean(dim=0)
    assert (means - attention.eval()(x, x, x)).abs().mean() < 0.02
