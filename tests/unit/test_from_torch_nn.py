"""copy_weights: every kind of module it knows; the comparisons of outputs are in tests/parity."""

import pytest
import torch
from torch import nn

from transformer_edu import (
    InputEmbedding,
    LayerNorm,
    MultiHeadAttention,
    ProjectionLayer,
    RMSNorm,
    build_transformer,
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
    for one, other in zip(theirs.parameters(), ours.parameters(), strict=True):
        assert torch.equal(one, other)
        assert one.data_ptr() != other.data_ptr()
        assert other.requires_grad


def test_the_three_projections_come_in_the_order_query_key_value():
    theirs, ours = nn.MultiheadAttention(4, 2), MultiHeadAttention(4, 2)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.arange(12.0)[:, None].expand(12, 4))
    copy_weights(theirs, ours)
    first_rows = [p.weight[0, 0].item() for p in (ours.query_projection, ours.key_projection, ours.value_projection)]
    assert first_rows == [0.0, 4.0, 8.0]


def test_the_whole_machine_needs_a_final_norm_on_both_sides():
    theirs = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    fields = {"d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 1}
    copy_weights(theirs, build_transformer(9, 9, **fields, final_norm=True))
    with pytest.raises(ValueError, match="final_norm must exist on both sides"):
        copy_weights(theirs, build_transformer(9, 9, **fields))
