"""The rotary explorer's Python side: its products are the package's, and what scaling does to its pairs."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from transformer_edu.book.figures.rotary_explorer import (
    BASES,
    D_HEAD,
    KEY,
    QUERY,
    READ,
    SCALINGS,
    TRAINED,
    pairs_beyond,
    positions_of,
    products,
)
from transformer_edu.parts.rotary import speeds_of

EXAMPLE = {"base": 500_000, "trained": 512, "read": 2048, "scaling": "yarn", "query": 200, "key": 100}
BAD = [
    (ValueError, "base must be", {"base": 100}),
    (ValueError, "scaling must be", {"scaling": "llama3"}),
    (ValueError, "query must be from 0 to 2047, got 2048", {"read": 2048, "query": 2048}),
    (ValueError, "key must be from 0 to 5, got 6", {"query": 5, "key": 6}),
]
SAYS = [
    (
        {},
        "a query at position 1000 and of a key at position 700",
        "the score, is 1.43",
        "read 8,192, not scaled: 2 of 6",
    ),
    ({"scaling": "ntk"}, "NTK: 1 of 6 pairs turns further"),
    ({"scaling": "yarn"}, "YaRN: no of 6 pairs turns further"),
]
SCENES = {
    "both positions move and no product changes": [
        "The score tells how far apart … query at 1,000key at 700sum = score = 1.43 … 300 positions before the query",
        "> slider move both = 1200",
        "Both moved by 500: every hand turned … query at 1,500key at 1,200sum = score = 1.43",
        "> slider key = 1499",
        "Another distance, another score … The key stands 1 position before the query … ; before: 1.43.",
        "> slider query = 100",
        "query at 100key at 100 … The key stands 0 positions before",
    ],
    "scaling keeps slow pairs within what training showed": [
        "0.70 → 2.8 turns▲ new from 2,048 … 0.15 → 0.61 turns▲ new from 2,048 … ▲ angles never trained, from 2,048 on",
        "> radio linear",
        "Linear: no pair turns further … pair 0 turns by 14.3°, not 57.3°: all pairs turn 4 times as slowly.",
        "! new from",
        "> radio NTK",
        "NTK: 1 of 6 pairs turns further … ▲ new from 6,209 … pair 4 meets angles that no weight was trained with",
        "> radio YaRN; button Another question; button Another question",
        "YaRN: no pair turns further … turns by 57.3° as before … Products are 1.30 times as large.",
        "> radio none; combobox trained with = 8,192; combobox to read = 2,048",
        "No longer than in training: no angle is new",
        "> combobox base = 1,000,000; combobox to read = 32,768; radio YaRN",
        "Yes. It tells neighbours apart as before",
    ],
    "a shorter text moves both positions into it": [
        {"query": 8000, "key": 7900},
        "> combobox to read = 2,048",
        "query at 2,047key at 2,047",
    ],
}
STATES = [
    SimpleNamespace(base=base, trained=trained, read=read, scaling=scaling)
    for base, trained, read, scaling in itertools.product(BASES, TRAINED, READ, SCALINGS)
]
PLACES = ((0, 0), (3, 1), (1000, 700), (2047, 5))


def numbers():
    """Speeds, pairs that turn too far, and products at four pairs of places, of every choice."""
    found = []
    for state in STATES:
        speeds, scaling = speeds_of(D_HEAD, float(state.base)), positions_of(state).scaling
        seen = [SimpleNamespace(**vars(state), query=query, key=key) for query, key in PLACES]
        found.append(
            vars(state)
            | {
                "vectors": [QUERY, KEY],
                "own": speeds.tolist(),
                "scaled": (speeds if scaling is None else scaling(speeds)).tolist(),
                "beyond": pairs_beyond(state),
                "places": [{"query": row.query, "key": row.key, "products": products(row).tolist()} for row in seen],
            }
        )
    return found


def test_products_hang_on_the_distance_alone():
    state = {"base": 10_000, "trained": 2048, "read": 8192, "scaling": "yarn"}
    for distance in (0, 1, 300):
        here, there = (products(SimpleNamespace(**state, query=at + distance, key=at)) for at in (0, 4000))
        torch.testing.assert_close(here, there, atol=1e-4, rtol=0)


@pytest.mark.parametrize("state", [state for state in STATES if state.scaling in ("linear", "yarn")])
def test_linear_and_yarn_leave_no_pair_turning_further(state):
    assert pairs_beyond(state) == []
