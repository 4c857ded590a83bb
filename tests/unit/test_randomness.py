"""Drawing from a seed without touching the caller's random state."""

import pytest
import torch

from transformer_edu.support.seeds import seeded


def draws(seed, **device):
    with seeded(seed, **device):
        return torch.rand(4)


@pytest.mark.parametrize("device", [{}, {"device": "cpu"}, {"device": torch.device("cpu")}])
def test_the_seed_alone_decides_what_is_drawn_inside(device):
    torch.manual_seed(1)
    first = draws(7, **device)
    torch.manual_seed(2)
    assert torch.equal(draws(7, **device), first)
    assert torch.equal(first, torch.rand(4, generator=torch.Generator().manual_seed(7)))
    assert not torch.equal(draws(8, **device), first)


def test_the_callers_random_state_is_put_back_even_after_an_error():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    with pytest.raises(ZeroDivisionError), seeded(7):
        _ = torch.rand(4) / (1 // 0)
    assert torch.equal(torch.rand(4), expected)
