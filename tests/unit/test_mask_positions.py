"""mask_position: a key that a query does not see, in any attention, until the block ends."""

import pytest
import torch

from tests.properties.models import SOURCE, TARGET, small_model
from transformer_edu import MultiHeadAttention, causal_mask, mask_position, record_attention

X = torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def test_a_masked_key_gets_no_weight_and_is_seen_again_afterwards():
    model = small_model()
    free = model(SOURCE, TARGET)
    attentions = [layer.self_attention for layer in model.encoder.layers]
    with record_attention(model) as maps, mask_position(attentions, query=0, key=2):
        masked = model(SOURCE, TARGET)
    for layer in (0, 1):
        weights = maps[f"encoder.{layer}.self"]
        assert (weights[:, :, 0, 2] == 0).all()
        assert (weights[0, :, 1:] > 0).all()
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 4, 5).double())
    assert not torch.allclose(free, masked)
    torch.testing.assert_close(model(SOURCE, TARGET), free)


def test_it_works_without_a_mask_and_keeps_the_causal_one():
    attention = MultiHeadAttention(8, 2)
    with record_attention(attention) as maps, mask_position([attention], query=2, key=0):
        attention(X, X, X)
        assert (maps["attention"][:, :, 2, 0] == 0).all()
        attention(X, X, X, causal_mask(3))
        assert (maps["attention"][:, :, 0, 1:] == 0).all()


@pytest.mark.parametrize(
    ("query", "key", "error"), [(3, 0, ValueError), (0, 3, ValueError), (-1, 0, ValueError), (0.0, 1, TypeError)]
)
def test_positions_that_do_not_exist_are_refused(query, key, error):
    attention = MultiHeadAttention(8, 2)
    with pytest.raises(error, match=r"query|key"), mask_position([attention], query, key):
        attention(X, X, X)
