"""The position explorer as a Python object: its words."""

import re

import pytest

from transformer_edu import sinusoidal_table
from transformer_edu.book.figures import PositionExplorer

EXAMPLE = {"d_model": 8, "base": 100.0, "positions": 32, "position": 4, "offset": 2, "pair": 3}
BAD = [
    (ValueError, "position + offset must be at most 63, the last row, got 60 + 4", {"position": 60, "offset": 4}),
    (ValueError, "pair must be from 0 to 1, got 2", {"d_model": 4, "pair": 2}),
]


@pytest.mark.parametrize("position", [0, 10, 50])
def test_words_give_the_dot_product_of_the_two_rows(position):
    table = sinusoidal_table(64, 32)
    product = table[position] @ table[position + 7]
    text = PositionExplorer(d_model=32, position=position, offset=7).alt_text()
    found = re.search(r"dot product of the two rows, (\S+)\.$", text)
    assert found
    assert float(found[1]) == pytest.approx(product.item(), abs=0.006)
    assert f"rows {position} and {position + 7} marked" in text
