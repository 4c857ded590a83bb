"""The position explorer's Python side: its words, and torch's numbers for its page."""

import re

import pytest
import torch

from transformer_edu import sinusoidal_table
from transformer_edu.book.figures import PositionExplorer
from transformer_edu.book.figures.position_explorer import SIZES

EXAMPLE = {"d_model": 8, "base": 100.0, "positions": 32, "position": 4, "offset": 2, "pair": 3}
BAD = [
    (ValueError, "position + offset must be at most 63, the last row, got 60 + 4", {"position": 60, "offset": 4}),
    (ValueError, "pair must be from 0 to 1, got 2", {"d_model": 4, "pair": 2}),
]
SCENES = {
    "both positions move and no angle does; another distance changes them": [
        "171.9° … 54.4° … 17.2° … On clock 1, 3 positions further is 54.4°, wherever you begin.",
        "> slider first position, p = 41",
        "p = 41 … p + 3 = 44 … 171.9° … 54.4°",
        "! was ",
        "> slider distance, k = 4; slider distance, k = 5",
        "p + 5 = 46 … 90.6° … was 54.4° … = … 90.6° … was 54.4°",
        "~ Positions 41 and 46, ",
    ],
    "a smaller base makes the slow columns fast, and a shorter table keeps both rows": [
        {"positions": 128, "position": 100, "offset": 20},
        "one turn in 19,869",
        "> click .te-details summary; combobox positions = 32",
        "PE(15) · PE(31)",
        "> slider base = 2",
        "one turn in 353",
        "> button Start again",
        "PE(100) · PE(120)",
    ],
}


def table_of(d_model, base, positions=128):
    """The table in float64, for any base; for 10,000 it is the package's own."""
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * thetas_of(d_model, base)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    if base == 10_000:
        torch.testing.assert_close(sinusoidal_table(positions, d_model).double(), table, atol=1e-6, rtol=0)
    return table


def thetas_of(d_model, base):
    """Radians per position, for each pair of columns."""
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def numbers():
    """Tables, the products of rows that are so far apart, and what the curve passes through in between."""
    distances = torch.linspace(0, 63, 256, dtype=torch.float64)
    return [
        {
            "d_model": d_model,
            "base": base,
            "table": table_of(d_model, base).tolist(),
            "products": [(table_of(d_model, base)[5] @ row).item() for row in table_of(d_model, base)[5:]],
            "curve": (distances[:, None] * thetas_of(d_model, base)).cos().sum(dim=1).tolist(),
        }
        for d_model, base in [*((size, 10_000.0) for size in SIZES), (16, 100.0)]
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
