"""Weights in a few bits: whole steps, one step for each group, and no vector touched."""

import pytest
import torch

from transformer_edu.book import recordings
from transformer_edu.book.experiments.rounding import GROUPS, rounded, with_rounded


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("group", [3, 6, 12])
def test_each_number_is_off_by_half_a_step_of_its_own_group_at_most(bits, group):
    weight = torch.randn(4, 6, generator=torch.Generator().manual_seed(bits * group))
    most = 2 ** (bits - 1) - 1
    step = weight.reshape(-1, group).abs().amax(dim=1, keepdim=True) / most
    off = (rounded(weight, bits, group) - weight).reshape(-1, group)
    assert (off.abs() <= step / 2 * (1 + 1e-5)).all()
    whole = rounded(weight, bits, group).reshape(-1, group) / step
    torch.testing.assert_close(whole, whole.round(), rtol=0, atol=1e-4)
    assert whole.abs().amax(dim=1).round().eq(most).all()


def test_matrices_are_rounded_in_a_copy_and_vectors_are_not():
    model = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.LayerNorm(8))
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    for group in GROUPS.values():
        small = dict(with_rounded(model, 3, group).named_parameters())
        assert {name for name in small if not torch.equal(small[name], before[name])} == {"0.weight"}
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_fewer_bits_and_larger_groups_lose_more():
    data = recordings.load("rounding")["data"]
    table = {(row["bits"], row["group"]): row["bits_per_byte"] for row in data["rows"]}
    bits, groups = sorted({n for n, _ in table}, reverse=True), list(GROUPS)
    for group in groups:
        scores = [data["float32"], *(table[n, group] for n in bits)]
        assert scores == sorted(scores)
    for n in bits:
        assert [table[n, group] for group in groups] == sorted((table[n, group] for group in groups), reverse=True)
