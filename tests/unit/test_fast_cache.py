"""Caches hold what was put into them, plain and with buffers."""

import pytest
import torch

from transformer_edu import KeyValueCache
from transformer_edu.fast.cache import BufferedCache

ROWS = torch.randn(3, 2, 9, 4, generator=torch.Generator().manual_seed(0))  # (batch, heads, k_len, d_head)


EITHER = pytest.mark.parametrize("make", [KeyValueCache, BufferedCache])


def filled(make, steps):
    cache, start = make(), 0
    for step in steps:
        new = ROWS[:, :, start : start + step]
        cache.append(new, -new)
        start += step
    return cache


@EITHER
@pytest.mark.parametrize("steps", [[9], [1] * 9, [3, 1, 1, 4], [1, 8]], ids=str)
@pytest.mark.parametrize("with_gradients", [[False], [True, False, False]], ids=["never", "now and then"])
def test_rows_stand_in_the_order_in_which_they_came(make, steps, with_gradients):
    cache, start = make(), 0
    for number, step in enumerate(steps):
        new = ROWS[:, :, start : start + step]
        with torch.set_grad_enabled(with_gradients[number % len(with_gradients)]):
            cache.append(new, -new)
        start += step
    assert torch.equal(cache.key, ROWS)
    assert torch.equal(cache.value, -ROWS)


@EITHER
def test_reordered_rows_go_on_growing(make):
    kept = torch.tensor([2, 0, 0, 1])
    with torch.no_grad():
        cache = filled(make, [4, 1])
        before = cache.key
        cache.reorder(kept)
        cache.append(ROWS[kept, :, 5:7], -ROWS[kept, :, 5:7])
    assert torch.equal(cache.key, ROWS[kept, :, :7])
    assert torch.equal(cache.value, -ROWS[kept, :, :7])
    assert torch.equal(before, ROWS[:, :, :5]), "what was handed out before stays as it was"


@EITHER
def test_gradients_flow_through_every_step(make):
    rows = ROWS.clone().requires_grad_()
    cache, seen = make(), []
    for position in range(3):
        new = rows[:, :, position : position + 1]
        seen.append(cache.append(new, new)[0].pow(2).sum())
    torch.stack(seen).sum().backward()
    expected = 2 * ROWS[:, :, :3] * torch.tensor([3.0, 2.0, 1.0])[:, None]
    torch.testing.assert_close(rows.grad[:, :, :3], expected)


def grown(rows, make):
    """Rows one at a time, put into another order on the way."""
    cache = make()
    for position in range(rows.shape[2]):
        if position == 3:
            cache.reorder(torch.tensor([2, 0, 1]))
        cache.append(rows[:, :, position : position + 1], -rows[:, :, position : position + 1])
    return cache.key - 2 * cache.value


@EITHER
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch.func uses it too
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # checks of shapes
@pytest.mark.parametrize("gradients", [True, False], ids=["with gradients", "without"])
@pytest.mark.long
def test_transformed_and_traced_rows_come_out_in_the_same_order(make, gradients, as_readers_run_it):
    def grow(rows):
        return grown(rows, make)

    with torch.set_grad_enabled(gradients):
        expected = grow(ROWS)
        several = torch.stack([ROWS, 2 * ROWS])
        assert torch.equal(torch.func.vmap(grow)(several), torch.stack([expected, 2 * expected]))
        assert torch.equal(torch.func.jvp(grow, (ROWS,), (ROWS,))[1], expected)
        assert torch.equal(torch.jit.trace(grow, (ROWS,))(2 * ROWS), 2 * expected)


@EITHER
def test_a_cache_begun_in_inference_mode_goes_on_outside_it(make):
    with torch.inference_mode():
        cache = filled(make, [2, 1])
    with torch.no_grad():
        cache.append(ROWS[:, :, 3:5], -ROWS[:, :, 3:5])
    assert torch.equal(cache.key, ROWS[:, :, :5])


@EITHER
@pytest.mark.parametrize(
    "wrong", [ROWS[:1], ROWS[:, :1], ROWS[..., :2], ROWS.double()], ids=["batch", "heads", "d_head", "dtype"]
)
def test_rows_of_another_kind_are_refused_and_change_nothing(make, wrong, as_readers_run_it):
    with torch.no_grad():
        cache = filled(make, [2, 1])
        with pytest.raises(ValueError, match=r"value must continue the cache's .*, got \("):
            cache.append(ROWS[:, :, 3:4], wrong[:, :, 3:4])
    assert torch.equal(cache.key, ROWS[:, :, :3])


def test_a_new_row_seldom_moves_the_old_ones():
    with torch.no_grad():
        cache, places = filled(BufferedCache, [1]), set()
        for position in range(1, 9):
            new = ROWS[:, :, position : position + 1]
            key, _ = cache.append(new, new)
            places.add(key.data_ptr())
    assert len(places) <= 3, "eight new rows, at most three tensors"
