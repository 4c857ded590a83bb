"""The position explorer as a Python object: its state, its words, its errors."""

import re

import pytest

from transformer_edu import sinusoidal_table
from transformer_edu.widgets import PositionExplorer, make_figure


def test_default_state_makes_the_same_figure() -> None:
    figure = PositionExplorer()
    assert figure.state() == {"base": 10000.0, "d_model": 16, "offset": 3, "pair": 1, "position": 10, "positions": 64}
    assert make_figure("position-explorer", **figure.state()).state() == figure.state()


@pytest.mark.parametrize("position", [0, 10, 50])
def test_words_give_the_dot_product_of_the_two_rows(position: int) -> None:
    table = sinusoidal_table(64, 32)
    product = table[position] @ table[position + 7]
    text = PositionExplorer(d_model=32, position=position, offset=7).alt_text()
    found = re.search(r"dot product of the two rows, (\S+), on", text)
    assert found
    assert float(found[1]) == pytest.approx(product.item(), abs=0.006)
    assert f"rows {position} and {position + 7} marked" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"d_model": 12}, "d_model must be one of 4, 8, 16, 32, 64, got 12"),
        ({"positions": 100}, "positions must be one of 32, 64, 128, got 100"),
        ({"base": 5.0}, "base must be from 10 to 100000, got 5.0"),
        ({"base": 1e6}, "base must be from 10 to 100000, got 1000000.0"),
        ({"position": -1}, "position must be at least 0, got -1"),
        ({"offset": -2}, "offset must be at least 0, got -2"),
        ({"position": 60, "offset": 4}, "position + offset must be at most 63, the last row, got 60 + 4"),
        ({"d_model": 4, "pair": 2}, "pair must be from 0 to 1 for d_model=4, got 2"),
    ],
)
def test_bad_values_are_named(given: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        PositionExplorer(**given)
