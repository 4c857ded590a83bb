"""The size of a model is known, and bounded, before anything is built."""

import os

import pytest
import torch

from transformer_edu import Transformer, TransformerConfig
from transformer_edu.checks.components.parameter_count import count
from transformer_edu.saving import size
from transformer_edu.saving.size import check_memory, parameter_count

SMALL = {"d_model": 8, "num_heads": 2, "d_ff": 12, "num_layers": 3, "max_len": 20}
ABSURD = [10**9, 10**5000]


@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize(
    "norm", [{"norm": "post"}, {"norm": "pre"}, {"final_norm": True}, {"norm": "pre", "final_norm": False}]
)
def test_the_formula_counts_what_the_model_learns(tie, norm):
    config = TransformerConfig(11, 11, **SMALL, **norm, tie_embeddings=tie)
    with torch.device("meta"):
        model = Transformer(config)
    assert parameter_count(config) == sum(parameter.numel() for parameter in model.parameters())
    assert parameter_count(config) == count(config), "the exercise counts the same"


@pytest.mark.parametrize("number", ABSURD, ids=["billion", "10^5000"])
@pytest.mark.parametrize(
    "field", ["num_layers", "d_model", "d_ff", "source_vocab_size", "target_vocab_size", "max_len"]
)
def test_sizes_beyond_the_machines_memory_are_refused_by_name_without_building(field, number, monkeypatch):
    monkeypatch.setattr(size, "machine_memory", lambda: 2**33)
    monkeypatch.setattr(Transformer, "__init__", lambda *_: pytest.fail("something was built"))
    fields = {"source_vocab_size": 11, "target_vocab_size": 11} | SMALL | {field: number}
    with pytest.raises(
        ValueError, match=rf"this machine's memory of 8,589,934,592 bytes.*{field}=(1,000|more than 2\^)"
    ) as caught:
        check_memory(TransformerConfig(**fields))
    assert len(str(caught.value)) < 500


def test_a_model_that_fits_is_let_through_and_training_needs_more(monkeypatch):
    config = TransformerConfig(1000, 1000)
    check_memory(config)
    monkeypatch.setattr(size, "machine_memory", lambda: parameter_count(config) * 8)
    check_memory(config)
    with pytest.raises(ValueError, match="sizes that need"):
        check_memory(config, bytes_per_parameter=16)


def test_where_the_system_hides_its_memory_only_absurd_sizes_are_refused(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    check_memory(TransformerConfig(37_000, 37_000))
    with pytest.raises(ValueError, match=r"num_layers=100,000,000"):
        check_memory(TransformerConfig(37_000, 37_000, num_layers=10**8))
