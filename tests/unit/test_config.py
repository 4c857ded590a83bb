"""TransformerConfig: the paper's defaults, frozen, final norm."""

from dataclasses import FrozenInstanceError, asdict, replace

import pytest

from transformer_edu import TransformerConfig


def test_defaults_are_the_papers_base_model():
    assert asdict(TransformerConfig(37_000, 37_000)) == {
        "source_vocab_size": 37_000,
        "target_vocab_size": 37_000,
        "d_model": 512,
        "num_heads": 8,
        "d_ff": 2048,
        "num_layers": 6,
        "dropout": 0.1,
        "norm": "post",
        "final_norm": None,
        "pad_id": 0,
        "max_len": 5000,
        "tie_embeddings": "none",
    }


def test_config_cannot_be_changed_only_replaced():
    config = TransformerConfig(10, 10)
    with pytest.raises(FrozenInstanceError):
        config.d_model = 64
    assert replace(config, d_model=64).d_model == 64
    with pytest.raises(ValueError, match="d_model must be divisible by num_heads, got d_model=60 and num_heads=8"):
        replace(config, d_model=60)
