"""Positional encodings: rows, offset, buffer or parameter, dropout."""

import copy

import pytest
import torch

from transformer_edu import LearnedPositionalEncoding, PositionalEncoding, sinusoidal_table

BOTH = pytest.mark.parametrize("encoding_type", [PositionalEncoding, LearnedPositionalEncoding])


@BOTH
@pytest.mark.parametrize("offset", [0, 1, 5])
def test_rows_from_the_offset_on_are_added_to_every_sentence(encoding_type, offset):
    encoding, x = encoding_type(8, 10), torch.randn(3, 5, 8)
    torch.testing.assert_close(encoding(x, offset), x + encoding.table[offset : offset + 5])


@BOTH
def test_dropout_falls_on_the_sum_in_training_only(encoding_type):
    torch.manual_seed(0)
    encoding, x = encoding_type(64, 10, dropout=0.5), torch.randn(4, 10, 64)
    dropped = encoding(x) == 0
    assert 0.4 < dropped.float().mean() < 0.6
    encoding.eval()
    torch.testing.assert_close(encoding(x), x + encoding.table)


def test_learned_table_is_a_parameter_that_is_trained_and_saved():
    encoding = LearnedPositionalEncoding(8, 10)
    assert "table" in encoding.state_dict()
    encoding(torch.zeros(2, 3, 8), offset=4).sum().backward()
    assert encoding.table.grad[:, 0].tolist() == [0, 0, 0, 0, 2, 2, 2, 0, 0, 0]


MOVES = {
    "to_empty": lambda encoding: encoding.to_empty(device="cpu"),
    "by way of meta": lambda encoding: encoding.to("meta").to_empty(device="cpu"),
    "float64": lambda encoding: encoding.double(),
    "float16 and back": lambda encoding: encoding.half().float(),
    "bfloat16": lambda encoding: encoding.to(torch.bfloat16),
    "deepcopy": copy.deepcopy,
    "nothing": lambda encoding: encoding.to("cpu"),
}


@pytest.mark.parametrize("move", MOVES)
def test_wherever_it_is_moved_the_table_is_the_formulas(move):
    moved = MOVES[move](PositionalEncoding(8, 40))
    assert torch.equal(moved.table, sinusoidal_table(40, 8).to(moved.table.dtype))
    assert dict(moved.named_buffers()).keys() == {"table"}
    assert moved.state_dict() == {}


def test_an_encoding_built_without_memory_gets_its_table_with_it():
    with torch.device("meta"):
        encoding = PositionalEncoding(8, 40)
        assert encoding.table.is_meta
        encoding.to_empty(device="cpu")
    assert torch.equal(encoding.table, sinusoidal_table(40, 8))
