"""Masks: True = may attend."""

import pytest
import torch

from transformer_edu import causal_mask, padding_mask


@pytest.mark.parametrize("size", [1, 2, 7])
def test_causal_mask_allows_exactly_the_present_and_the_past(size):
    mask = causal_mask(size)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key <= query for key in range(size)] for query in range(size)]


def test_causal_mask_is_made_where_it_is_asked_for():
    assert causal_mask(3, "meta").device.type == "meta"
    assert causal_mask(3, torch.device("cpu")).device.type == "cpu"


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("pad_id", [0, 7])
def test_padding_mask_hides_the_padding_id_wherever_it_stands(pad_id, dtype):
    mask = padding_mask(torch.tensor([[7, 0, 3], [0, 0, 7]], dtype=dtype), pad_id)
    assert mask.shape == (2, 1, 1, 3)
    assert mask.flatten(1).tolist() == [[i != pad_id for i in row] for row in ([7, 0, 3], [0, 0, 7])]
