"""copy_weights: every kind of module it knows; the comparisons of outputs are in tests/parity."""

import pytest
import torch
from torch import nn

from transformer_edu import (
    InputEmbedding,
    LayerNorm,
    ProjectionLayer,
    RMSNorm,
    copy_weights,
)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (nn.LayerNorm(8), LayerNorm(8)),
        (nn.RMSNorm(8), RMSNorm(8)),
        (nn.Linear(8, 5), nn.Linear(8, 5)),
        (nn.Linear(8, 5), ProjectionLayer(8, 5, bias=True)),
        (nn.Linear(8, 5, bias=False), ProjectionLayer(8, 5)),
        (nn.Embedding(5, 8), nn.Embedding(5, 8)),
        (nn.Embedding(5, 8), InputEmbedding(5, 8)),
    ],
    ids=lambda module: type(module).__name__,
)
def test_plain_modules_get_equal_weights_of_their_own(theirs, ours):
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    copy_weights(theirs, ours)
    for weight, other in zip(theirs.parameters(), ours.parameters(), strict=True):
        assert torch.equal(weight, other)
        assert weight.data_ptr() != other.data_ptr()
        assert other.requires_grad
