"""Positional encodings: rows, offset, buffer or parameter, dropout."""

import math

import pytest
import torch

from transformer_edu import LearnedPositionalEncoding, PositionalEncoding, sinusoidal_table

BOTH = pytest.mark.parametrize("encoding_type", [PositionalEncoding, LearnedPositionalEncoding])


def test_first_rows_are_the_papers_formula():
    table = sinusoidal_table(3, 4)
    expected = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    torch.testing.assert_close(table, torch.tensor(expected))


def test_table_follows_the_default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert sinusoidal_table(3, 4).dtype == torch.float64
    finally:
        torch.set_default_dtype(before)


@BOTH
@pytest.mark.parametrize("offset", [0, 1, 5])
def test_rows_from_the_offset_on_are_added_to_every_sentence(encoding_type, offset):
    encoding, x = encoding_type(8, 10), torch.randn(3, 5, 8)
    torch.testing.assert_close(encoding(x, offset), x + encoding.table[offset : offset + 5])


@BOTH
def test_the_last_row_can_be_reached(encoding_type):
    encoding = encoding_type(4, 6)
    added = encoding(torch.zeros(1, 1, 4), offset=5)
    torch.testing.assert_close(added[0, 0], encoding.table[5])


@BOTH
def test_dropout_falls_on_the_sum_in_training_only(encoding_type):
    torch.manual_seed(0)
    encoding, x = encoding_type(64, 10, dropout=0.5), torch.randn(4, 10, 64)
    dropped = encoding(x) == 0
    assert 0.4 < dropped.float().mean() < 0.6
    encoding.eval()
    torch.testing.assert_close(encoding(x), x + encoding.table)


def test_sinusoidal_table_is_a_buffer_that_moves_and_is_not_saved():
    encoding = PositionalEncoding(8, 10)
    assert list(encoding.parameters()) == []
    assert dict(encoding.named_buffers()).keys() == {"table"}
    assert "table" not in encoding.state_dict()
    assert encoding.to("meta").table.device.type == "meta"


def test_learned_table_is_a_parameter_that_is_trained_and_saved():
    encoding = LearnedPositionalEncoding(8, 10)
    assert "table" in encoding.state_dict()
    encoding(torch.zeros(2, 3, 8), offset=4).sum().backward()
    assert encoding.table.grad[:, 0].tolist() == [0, 0, 0, 0, 2, 2, 2, 0, 0, 0]
